#include "asyncgrad/core/engine/threads/bed.h"

#include <gtest/gtest.h>

#include <thread>

namespace asyncgrad::detail {
namespace {

TEST(Bed, IsLeftByWhoeverWasNotAsleep) {
  Bed bed;
  EXPECT_FALSE(bed.try_wake());
  bed.announce();
  EXPECT_TRUE(bed.cancel());
  EXPECT_FALSE(bed.cancel());
  bed.announce();
  EXPECT_TRUE(bed.try_wake());
  EXPECT_FALSE(bed.try_wake());
  EXPECT_FALSE(bed.cancel());
  bed.sleep();  // somebody woke it: returns at once
}

// Two threads hand a ball to and fro; each goes to bed when it does not have it. A lost wake-up would end the test's
// time.
TEST(Bed, LosesNoWakeUp) {
  constexpr int rounds = 20'000;
  std::atomic<int> ball{0};
  Bed beds[2];
  std::atomic<int> wakes{0}, sleeps{0};
  const auto play = [&](int me) {
    for (int turn = me; turn < 2 * rounds; turn += 2) {
      while (ball.load(std::memory_order_seq_cst) != turn) {
        beds[me].announce();
        if (ball.load(std::memory_order_seq_cst) == turn && beds[me].cancel()) break;
        beds[me].sleep();
        ++sleeps;
      }
      ball.store(turn + 1, std::memory_order_seq_cst);
      if (beds[1 - me].try_wake()) ++wakes;
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(ball.load(), 2 * rounds);
  EXPECT_EQ(wakes.load(), sleeps.load());  // every sleep was ended by exactly one waker
}

}  // namespace
}  // namespace asyncgrad::detail
