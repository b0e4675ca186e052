// The two orders in which threads find ready operations.
#include "asyncgrad/core/engine/schedule/ready.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

using Numbers = std::vector<std::uint64_t>;

// All that a search finds.
Numbers all_of(Ready& ready, Ready::Search search) {
  Numbers found;
  while (const std::uint64_t number = ready.next(search)) found.push_back(number);
  return found;
}

class ReadyTest : public testing::Test {
 protected:
  ReadyTest() { ring_.make(64, 1); }
  Ring ring_;
};

TEST_F(ReadyTest, InOrderGivesTheOldestFirstAndKeepsWhatIsNotRemoved) {
  ReadyInOrder ready(ring_);
  EXPECT_FALSE(ready.any());
  for (const std::uint64_t number : {9U, 3U, 7U}) ready.add(number);
  ready.add_all(20, 0b101);
  EXPECT_TRUE(ready.any());
  EXPECT_EQ(all_of(ready, {.first = 2}), (Numbers{3, 7, 9, 20, 22}));
  EXPECT_EQ(all_of(ready, {.first = 2, .limit = 9}), (Numbers{3, 7, 9}));
  ready.remove(7);
  EXPECT_EQ(all_of(ready, {.first = 5, .limit = 60}), (Numbers{9, 20, 22})) << "3 lies before f";
  ready.open(8);
  EXPECT_EQ(all_of(ready, {.first = 8, .limit = 9}), (Numbers{8, 9}));
}

// Marks of operations that are not ready are passed over, and so are those of two words of the set.
TEST_F(ReadyTest, InOrderGivesWhatIsAwaitedByItself) {
  Ring ring;
  ring.make(256, 1);
  ReadyInOrder ready(ring);
  for (const std::uint64_t number : {3U, 7U, 80U, 200U}) ready.add(number);
  ring.awaited().begin();
  for (const std::size_t slot : {7U, 8U, 200U, 230U}) ring.awaited().mark(slot);
  Ready::Search search{.first = 2};
  EXPECT_EQ(ready.next_awaited(search), 7U);
  EXPECT_EQ(ready.next_awaited(search), 200U);
  EXPECT_EQ(ready.next_awaited(search), 0U);
  Ready::Search limited{.first = 2, .limit = 199};
  EXPECT_EQ(ready.next_awaited(limited), 7U);
  EXPECT_EQ(ready.next_awaited(limited), 0U);
  EXPECT_EQ(all_of(ready, {.first = 2}), (Numbers{3, 7, 80, 200}));
}

TEST_F(ReadyTest, InOrderGivesUpAfterSomeRefusals) {
  ReadyInOrder ready(ring_);
  Ready::Search search{.first = 1};
  for (int refusal = 0; refusal < 3; ++refusal) EXPECT_TRUE(ready.goes_on_after_refusal(search));
  EXPECT_FALSE(ready.goes_on_after_refusal(search));
}

TEST_F(ReadyTest, ByArrivalGivesEachOnceInTheOrderOfReadiness) {
  ReadyByArrival ready(ring_);
  for (int lap = 0; lap < 50; ++lap) {
    for (const std::uint64_t number : {9U, 3U, 7U}) ready.add(number);
    EXPECT_EQ(all_of(ready, {.first = 1, .limit = 8}), Numbers()) << "the first is younger than that";
    EXPECT_EQ(all_of(ready, {.first = 1}), (Numbers{9, 3, 7}));
    EXPECT_FALSE(ready.any());
  }
}

// A refused operation goes to the end of the queue, where only a later search finds it.
TEST_F(ReadyTest, ByArrivalTriesEachOnceInASearch) {
  ReadyByArrival ready(ring_);
  for (const std::uint64_t number : {4U, 5U}) ready.add(number);
  Ready::Search search{.first = 1};
  EXPECT_EQ(ready.next(search), 4U);
  ready.add(4);
  EXPECT_EQ(ready.next(search), 5U);
  EXPECT_EQ(ready.next(search), 0U);
  EXPECT_EQ(all_of(ready, {.first = 1}), Numbers{4});
}

TEST_F(ReadyTest, ByArrivalComesToTilesWhenNothingElseIsReady) {
  ReadyByArrival ready(ring_);
  ready.open(2);
  ready.add(6);
  EXPECT_EQ(all_of(ready, {.first = 1}), (Numbers{6, 2}));
  EXPECT_TRUE(ready.any());
  ready.remove(2);
  EXPECT_FALSE(ready.any());
}

TEST_F(ReadyTest, ByArrivalGivesEveryNumberToOneThread) {
  constexpr std::uint64_t each = 5000;
  Ring ring;
  ring.make(2 * each, 1);
  ReadyByArrival ready(ring);
  std::atomic<std::uint64_t> sum{0}, taken{0};
  std::vector<std::thread> all;
  for (std::uint64_t part = 0; part < 2; ++part) {
    all.emplace_back([&, part] {
      for (std::uint64_t i = 1; i <= each; ++i) ready.add(part * each + i);
    });
    all.emplace_back([&] {
      while (taken.load() < 2 * each) {
        Ready::Search search{.first = 1};
        const std::uint64_t number = ready.next(search);
        sum += number;
        taken += number == 0 ? 0 : 1;
        if (number == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(sum.load(), each * (2 * each + 1));
}

}  // namespace
}  // namespace asyncgrad::detail
