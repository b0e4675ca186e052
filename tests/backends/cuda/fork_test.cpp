// A fork while another thread looks for GPUs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/cuda_backend.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

// A driver takes its time to start, and no thread of the child would let go of the lock that the other one has.
TEST(CudaFork, WaitsForWhoeverLooksForGpus) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer allows no new threads in the child";
#endif
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
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    gpus.api().hold_count(false);
    look();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  other.join();
  driver.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace asyncgrad::tests
