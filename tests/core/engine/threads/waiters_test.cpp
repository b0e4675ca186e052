#include "asyncgrad/core/engine/threads/waiters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

class WaitersTest : public testing::Test {
 protected:
  WaitersTest() { ring_.make(64, 1); }
  void finish(std::uint64_t number) {
    ring_.order().finish(number, [](std::uint64_t) {});
    waiters_.wake(number, ring_.oldest().load());
  }
  Ring ring_;
  Waiters waiters_{ring_};
};

TEST_F(WaitersTest, AGoalThatIsReachedIsNotWaitedFor) {
  finish(1);
  waiters_.sleep_until({.number = 1});
  waiters_.sleep_until({.number = 2, .all = true});
}

// The younger operation ends first: it wakes the thread that waits for it alone.
TEST_F(WaitersTest, EachThreadSleepsUntilItsOwnGoal) {
  std::atomic<bool> has_one{false}, has_all{false};
  std::thread one([&] {
    waiters_.sleep_until({.number = 2});
    has_one = true;
  });
  std::thread all([&] {
    waiters_.sleep_until({.number = 3, .all = true});
    has_all = true;
  });
  finish(2);
  one.join();
  EXPECT_TRUE(has_one);
  EXPECT_FALSE(has_all) << "operation 1 is unfinished";
  finish(1);
  all.join();
  EXPECT_TRUE(has_all);
}

// The order of a device has smaller numbers than the program's.
TEST_F(WaitersTest, AGoalInTheOrderOfADeviceIsLookedForAfterEveryOperation) {
  Order device(64, 1);
  std::thread waiting([&] { waiters_.sleep_until({.number = 2, .all = true, .order = &device}); });
  finish(1);
  device.finish(1, [](std::uint64_t) {});
  finish(2);
  waiting.join();
  EXPECT_EQ(device.oldest().load(), 2U);
}

// Each thread waits for each operation. A lost wake-up would hang the test.
TEST_F(WaitersTest, LoseNoWakeUp) {
  constexpr std::uint64_t last = 3000;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> arrived{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t number = 1; number <= last; ++number) {
        waiters_.sleep_until({.number = number + 1, .all = true});
        ++arrived;
      }
    });
  }
  for (std::uint64_t number = 1; number <= last; ++number) {
    finish(number);
    if (number % 7 == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arrived, 3 * last);
}

}  // namespace
}  // namespace asyncgrad::detail
