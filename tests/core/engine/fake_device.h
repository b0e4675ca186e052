// Devices that run on their own, made of threads: "cuda:0" and "cuda:1" without a GPU.
#pragma once

#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::tests {

struct FakeOptions {
  std::uint64_t seed = 1;
  int most_delay_us = 100;                            // before an operation, now and then
  std::int64_t memory_bytes = std::int64_t{1} << 30;  // of each device
  std::int64_t arange_scratch_bytes = 0;              // what that kernel asks for, and writes
};

// While it lives there are two such devices. Their kernels are the CPU's, run by a thread for each queue, late at
// random; what depends on values is not checked. Memory that is not behind an address is not there to be touched. One
// at a time, and no other thread may use the library when it begins and ends.
class FakeDevices {
 public:
  explicit FakeDevices(const FakeOptions& options = {});
  FakeDevices(const FakeDevices&) = delete;
  FakeDevices& operator=(const FakeDevices&) = delete;
  ~FakeDevices();

  // Holds back what the queues have not begun yet, until it is called with false. (0: operations, 1: copies in, 2:
  // out.)
  static void hold(int index, bool is_held);
  // The next `count` queues are not made.
  static void refuse_queues(int count);
  // The next `count` operations that are issued are refused.
  static void refuse_issues(int count);
  // How often there was no memory so far.
  static int memory_refusals();
  // From now on every call of the device fails.
  static void fail_for_good(Device device);

 private:
  detail::Backend& backend_;  // never freed, as the devices' states: a new one must not be taken for it
};

}  // namespace asyncgrad::tests
