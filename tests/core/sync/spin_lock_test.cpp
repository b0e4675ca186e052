#include "asyncgrad/core/sync/spin_lock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

TEST(SpinLock, LetsOneInAtATime) {
  SpinLock lock;
  std::int64_t count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000);
}

}  // namespace
}  // namespace asyncgrad::detail
