// "cuda:0" and so on without a GPU: this backend, on made-up calls, with its kernels on the emulator. An operation that
// has no kernel there is computed by the CPU's.
#pragma once

#include "tests/backends/cuda/fake_api.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {

// How many calls of each function are made to fail at most: the first ones.
inline constexpr int max_tries = is_sanitized ? 1 : 12;

// The GPUs are there while it lives. There may be one such object at a time, and no other thread may use the library
// when it begins and ends.
class FakeGpus {
 public:
  explicit FakeGpus(const FakeApiOptions& options = {});
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;
  ~FakeGpus();

  FakeApi& api() { return api_; }
  // Takes the devices out of the engine, and ends all that their queues hold.
  void end();

 private:
  FakeApi& api_;
};

}  // namespace asyncgrad::tests
