// The ring of operations: which are finished, and how f moves.
#include "asyncgrad/core/engine/record/ring.h"

#include <gtest/gtest.h>

#include <vector>

namespace asyncgrad::detail {
namespace {

class RingTest : public testing::Test {
 protected:
  RingTest() { ring_.make(64); }
  void finish(std::uint64_t number) { ring_.at(number).finished.store(number); }
  // The numbers that f came to.
  std::vector<std::uint64_t> advance() {
    std::vector<std::uint64_t> arrivals;
    const bool advanced = ring_.advance([&arrivals](std::uint64_t f) { arrivals.push_back(f); });
    EXPECT_EQ(advanced, !arrivals.empty());
    return arrivals;
  }

  Ring ring_;
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(RingTest, HasRoomForAPowerOfTwo) {
  EXPECT_EQ(ring_.slots(), 64U);
  EXPECT_FALSE(ring_.make(33)) << "there is room already";
  EXPECT_TRUE(ring_.make(65));
  EXPECT_EQ(ring_.slots(), 128U);
}

TEST_F(RingTest, FPassesWhatIsFinishedInOrder) {
  EXPECT_EQ(advance(), Numbers());
  finish(2);
  finish(3);
  EXPECT_EQ(advance(), Numbers());  // the first is not
  finish(1);
  EXPECT_EQ(advance(), (Numbers{2, 3, 4}));
  EXPECT_EQ(ring_.oldest().load(), 4U);
}

TEST_F(RingTest, FinishedBeforeFIsThere) {
  finish(2);
  EXPECT_TRUE(ring_.finished(2));
  EXPECT_FALSE(ring_.finished(1));
}

// The record tells of the slot's next owner then, finished or not.
TEST_F(RingTest, WhatIsFinishedStaysSoWhenItsSlotIsUsedAgain) {
  for (std::uint64_t number = 1; number <= 64; ++number) finish(number);
  advance();
  for (std::uint64_t number = 1; number <= 64; ++number) EXPECT_TRUE(ring_.finished(number));
  EXPECT_FALSE(ring_.finished(65));
  finish(66);  // in the slot of 2
  EXPECT_TRUE(ring_.finished(1));
  EXPECT_TRUE(ring_.finished(2));
  EXPECT_FALSE(ring_.finished(65));
  EXPECT_TRUE(ring_.finished(66));
}

}  // namespace
}  // namespace asyncgrad::detail
