#include "asyncgrad/core/sync/futex.h"

#include <gtest/gtest.h>

#include <thread>

namespace asyncgrad::detail {
namespace {

TEST(Futex, DoesNotSleepOnAWordThatHasChanged) {
  const std::atomic<std::uint32_t> word{1};
  wait_on(word, 0);  // returns at once, or the test's time ends
  EXPECT_EQ(word.load(), 1U);
}

// A lost wake-up would end the test's time.
TEST(Futex, WakesWhenTheWordHasChanged) {
  std::atomic<std::uint32_t> word{0};
  for (std::uint32_t round = 0; round < 1000; ++round) {
    std::thread sleeper([&] {
      while (word.load() == round) wait_on(word, round);
    });
    word.store(round + 1);
    wake(word);
    sleeper.join();
  }
  EXPECT_EQ(word.load(), 1000U);
}

}  // namespace
}  // namespace asyncgrad::detail
