// A fork while another thread looks for GPUs.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/cuda_backend.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/forked.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

// A driver takes its time to start, and no thread of the child would let go of the lock that the other one has.
TEST(CudaFork, WaitsForWhoeverLooksForGpus) {
  if (no_threads_in_child != nullptr) GTEST_SKIP() << no_threads_in_child;
  if (hangs_in_child != nullptr) GTEST_SKIP() << hangs_in_child;
  ones({1}).wait();  // the engine is there
  FakeGpus gpus;
  const auto look = [] {
    std::string why_none;
    EXPECT_TRUE(detail::cuda_backend().devices(why_none).empty());
    EXPECT_EQ(why_none, "status 100");
  };
  gpus.api().fail("get_device_count", 0, cudaErrorNoDevice, true);
  gpus.api().hold_count(true);
  std::thread other(look);
  while (gpus.api().calls()["get_device_count"] == 0) std::this_thread::yield();
  std::thread driver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    gpus.api().hold_count(false);
  });
  const pid_t child = fork_child([&] {
    gpus.api().hold_count(false);
    look();
    return !testing::Test::HasFailure();
  });
  other.join();
  driver.join();
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace asyncgrad::tests
