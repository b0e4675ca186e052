// Devices that run on their own, made of threads: "cuda:0" and "cuda:1" without a GPU.
#pragma once

#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::tests {

struct FakeOptions {
  std::uint64_t seed = 1;
  int max_delay_us = 100;                             // before an operation, now and then
  std::int64_t memory_bytes = std::int64_t{1} << 30;  // of each device
  std::int64_t arange_scratch_bytes = 0;              // what that kernel asks for, and writes
};

// While it lives there are two such devices. A thread for each queue runs the CPU's kernels, with random delays, but
// does not check values such as indices. The process ends if it touches addresses that have no memory. There may be one
// such object at a time, and no other thread may use the library when it begins and ends.
class FakeDevices {
 public:
  explicit FakeDevices(const FakeOptions& options = {});
  FakeDevices(const FakeDevices&) = delete;
  FakeDevices& operator=(const FakeDevices&) = delete;
  ~FakeDevices();

  // Holds back what the queues of this index have not begun yet, until it is called with false. Queue 0 is for
  // operations, 1 for copies in, 2 for copies out.
  static void hold(int index, bool is_held);
  // Refuses to make the next `count` queues.
  static void refuse_queues(int count);
  // Refuses the next `count` operations that are issued.
  static void refuse_issues(int count);
  // How often there was no memory so far.
  static int memory_refusals();
  // Makes every call of the device fail from now on.
  static void fail_for_good(Device device);

 private:
  detail::Backend& backend_;  // never freed, as the devices' states: a new one must not be taken for it
};

}  // namespace asyncgrad::tests
