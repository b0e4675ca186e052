#include "asyncgrad/core/memory/sharded_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

// Counts are never destroyed, because threads keep pointers to their shards.
ShardedCount& new_count() {
  static auto* const counts = new std::vector<ShardedCount*>;
  return *counts->emplace_back(new ShardedCount);
}

TEST(ShardedCount, SumsWhatAllThreadsAdd) {
  ShardedCount& count = new_count();
  std::atomic<bool> is_over{false};
  std::thread looking([&] {
    while (!is_over.load()) EXPECT_GE(count.total(), 0);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10'000; ++k) {
        count.add(3);
        count.add(-2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  is_over.store(true);
  looking.join();
  EXPECT_EQ(count.total(), 40'000);
}

TEST(ShardedCount, OneThreadMayTakeAwayWhatAnotherAdded) {
  ShardedCount& count = new_count();
  count.add(100);
  std::thread([&] { count.add(-100); }).join();
  EXPECT_EQ(count.total(), 0);
}

// A thread uses more counts in turn than it remembers shards for, and finds its shard of each count again.
TEST(ShardedCount, ManyAreKeptApart) {
  std::vector<ShardedCount*> counts(50);
  for (ShardedCount*& count : counts) count = &new_count();
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i]->add(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i]->total(), 3 * static_cast<std::int64_t>(i));
}

// New threads take over the shards of threads that have ended.
TEST(ShardedCount, CountsOnAfterThreadsHaveEnded) {
  ShardedCount &one = new_count(), &other = new_count();
  const auto begin_and_end_threads = [&] {
    for (int i = 0; i < 100; ++i) {
      std::thread([&] {
        one.add(1);
        other.add(2);
      }).join();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(begin_and_end_threads);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(one.total(), 400);
  EXPECT_EQ(other.total(), 800);
}

// A thread_local object may add to a count when it is destroyed, after the thread has left its shards to others.
TEST(ShardedCount, CountsAtTheVeryEndOfAThread) {
  static ShardedCount& count = new_count();
  struct Last {
    ~Last() { count.add(5); }
  };
  std::thread([] {
    thread_local Last last;  // made before the thread's shard, so that it ends after it
    static_cast<void>(last);
    count.add(2);
  }).join();
  EXPECT_EQ(count.total(), 7);
}

}  // namespace
}  // namespace asyncgrad::detail
