#include "asyncgrad/core/engine/ring/ring.h"

#include <gtest/gtest.h>

namespace asyncgrad::detail {
namespace {

void finish(Ring& ring, std::uint64_t number) {
  ring.order().finish(number, [](std::uint64_t) {});
}

TEST(Ring, HasRoomForAPowerOfTwo) {
  Ring ring;
  EXPECT_TRUE(ring.make(64, 1));
  EXPECT_EQ(ring.slots(), 64U);
  EXPECT_FALSE(ring.make(33, 1)) << "there is room already";
  EXPECT_TRUE(ring.make(65, 1));
  EXPECT_EQ(ring.slots(), 128U);
}

TEST(Ring, GoesOnWithItsNumbersWhenItIsMadeAgain) {
  Ring ring;
  ring.make(64, 1);
  for (std::uint64_t number = 1; number < 10; ++number) finish(ring, number);
  EXPECT_TRUE(ring.make(128, 10));
  EXPECT_EQ(ring.oldest().load(), 10U);
  EXPECT_TRUE(ring.is_finished(9));
}

// A thread that waits may still look into the order from before.
TEST(Ring, KeepsTheOrderBeforeAndGoesBackToIt) {
  Ring ring;
  ring.make(64, 1);
  const Order& before = ring.order();
  finish(ring, 1);
  ring.make(128, 2);
  finish(ring, 2);
  EXPECT_EQ(before.oldest().load(), 2U);
  ring.make(64, 3);
  EXPECT_EQ(&ring.order(), &before);
  EXPECT_EQ(ring.oldest().load(), 3U);
  EXPECT_TRUE(ring.is_finished(2));
  EXPECT_FALSE(ring.is_finished(3));
}

TEST(Ring, AGoalIsOneOperationOrAllBefore) {
  Ring ring;
  ring.make(64, 1);
  finish(ring, 2);
  EXPECT_TRUE(ring.reached({.number = 2}));
  EXPECT_FALSE(ring.reached({.number = 1}));
  EXPECT_FALSE(ring.reached({.number = 3, .all = true}));
  finish(ring, 1);
  EXPECT_TRUE(ring.reached({.number = 3, .all = true}));
  EXPECT_FALSE(ring.reached({.number = 4, .all = true}));
}

TEST(Ring, AGoalMayBeMeantInTheOrderOfADevice) {
  Ring ring;
  ring.make(64, 1);
  Order order(64, 5);
  EXPECT_TRUE(ring.reached({.number = 5, .all = true, .order = &order}));
  EXPECT_FALSE(ring.reached({.number = 6, .all = true, .order = &order}));
}

}  // namespace
}  // namespace asyncgrad::detail
