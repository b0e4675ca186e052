// "cuda:0" and so on without a GPU: this backend, on made-up calls, with the CPU's kernels.
#pragma once

#include "tests/backends/cuda/fake_api.h"

namespace asyncgrad::tests {

// The most that are made to fail of one function's calls: of those that are many, the first ones.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int most_tries = 1;
#else
inline constexpr int most_tries = 12;
#endif

// There while it lives. One at a time, and no other thread may use the library when it begins and ends. What depends on
// values is not checked by the kernels.
class FakeGpus {
 public:
  explicit FakeGpus(const FakeApiOptions& options = {});
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;
  ~FakeGpus();

  FakeApi& api() { return api_; }
  // The devices leave the engine, and all that the queues hold ends.
  void end();

 private:
  FakeApi& api_;
};

}  // namespace asyncgrad::tests
