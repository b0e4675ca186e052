// Which operations are finished, and how f, the number of the oldest unfinished one, moves.
#include "asyncgrad/core/engine/ring/order.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

using Numbers = std::vector<std::uint64_t>;

class OrderTest : public testing::Test {
 protected:
  // Finishes an operation, and returns the numbers that f came to.
  Numbers finish(std::uint64_t number) {
    Numbers arrivals;
    order_.finish(number, [&arrivals](std::uint64_t f) { arrivals.push_back(f); });
    return arrivals;
  }

  Order order_{64, 1};
};

TEST_F(OrderTest, FPassesWhatIsFinishedInOrder) {
  EXPECT_EQ(finish(2), Numbers());  // the first is not
  EXPECT_EQ(finish(3), Numbers());
  EXPECT_EQ(finish(1), (Numbers{2, 3, 4}));
  EXPECT_EQ(order_.oldest().load(), 4U);
}

TEST_F(OrderTest, AnOperationIsFinishedBeforeFReachesIt) {
  finish(2);
  EXPECT_TRUE(order_.is_finished(2));
  EXPECT_FALSE(order_.is_finished(1));
}

// The slot then says whether its next owner is finished.
TEST_F(OrderTest, AnOperationStaysFinishedWhenItsSlotIsUsedAgain) {
  for (std::uint64_t number = 1; number <= 64; ++number) finish(number);
  for (std::uint64_t number = 1; number <= 64; ++number) EXPECT_TRUE(order_.is_finished(number));
  EXPECT_FALSE(order_.is_finished(65));
  finish(66);  // in the slot of 2
  EXPECT_TRUE(order_.is_finished(1));
  EXPECT_TRUE(order_.is_finished(2));
  EXPECT_FALSE(order_.is_finished(65));
  EXPECT_TRUE(order_.is_finished(66));
}

TEST(Order, BeginsAnywhere) {
  Order order(64, 1000);
  EXPECT_TRUE(order.is_finished(999));
  EXPECT_FALSE(order.is_finished(1000));
  EXPECT_EQ(order.oldest().load(), 1000U);
}

// Each of three threads finishes every third number. f arrives at every number once, and is never left behind.
TEST(Order, LosesNoStepOfF) {
  constexpr std::uint64_t last = 60'000;
  constexpr std::size_t slots = 256;
  Order order(slots, 1);
  std::vector<std::atomic<int>> arrivals(last + 2);
  std::vector<std::thread> threads;
  for (std::uint64_t part = 1; part <= 3; ++part) {
    threads.emplace_back([&, part] {
      for (std::uint64_t number = part; number <= last; number += 3) {
        while (order.oldest().load() + slots <= number) std::this_thread::yield();
        order.finish(number, [&arrivals](std::uint64_t f) { ++arrivals[f]; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order.oldest().load(), last + 1);
  for (std::uint64_t number = 2; number <= last + 1; ++number) ASSERT_EQ(arrivals[number].load(), 1) << number;
}

}  // namespace
}  // namespace asyncgrad::detail
