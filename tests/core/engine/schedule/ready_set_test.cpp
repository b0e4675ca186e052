#include "asyncgrad/core/engine/schedule/ready_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace asyncgrad::detail {
namespace {

// The nearest member, by the definition in ready_set.h.
std::int64_t nearest_of(const std::set<std::size_t>& members, std::size_t slots, std::size_t first, std::size_t skip) {
  for (std::size_t behind = skip; behind < slots; ++behind) {
    if (members.contains((first + behind) % slots)) return static_cast<std::int64_t>(behind);
  }
  return -1;
}

class ReadySetOf : public testing::TestWithParam<std::size_t> {};

TEST_P(ReadySetOf, FindsWhatASetFindsInRingOrder) {
  const std::size_t slots = GetParam();
  ReadySet ready(slots);
  std::set<std::size_t> members;
  std::mt19937 random(1);
  for (int step = 0; step < 4000; ++step) {
    const std::size_t slot = random() % slots;
    // The set is sparse most of the time and sometimes empty, and sometimes gets several members at once.
    if (step % 97 == 0) {
      const std::uint64_t batch = (std::uint64_t{random()} << 32 | random()) & ~(std::uint64_t{1} << random() % 64);
      ready.insert_all(slot, batch);
      for (std::size_t i = 0; i < 64; ++i) {
        if ((batch >> i) % 2 == 1) members.insert((slot + i) % slots);
      }
    } else if (members.size() < 1 + random() % 12) {
      ready.insert(slot);
      members.insert(slot);
    } else {
      const std::size_t victim = *members.begin();
      ready.erase(victim);
      members.erase(victim);
    }
    const std::size_t first = random() % slots, skip = step % 3 == 0 ? random() % (slots + 2) : random() % 3;
    ASSERT_EQ(ready.nearest(first, skip), nearest_of(members, slots, first, skip))
        << "from " << first << " over " << skip << " in step " << step;
  }
}

TEST_P(ReadySetOf, IsEmptyAtFirstAndFullAtLast) {
  const std::size_t slots = GetParam();
  ReadySet ready(slots);
  EXPECT_EQ(ready.nearest(slots - 1, 0), -1);
  for (std::size_t slot = 0; slot < slots; ++slot) ready.insert(slot);
  EXPECT_EQ(ready.nearest(5, 0), 0);
  EXPECT_EQ(ready.nearest(5, slots - 1), static_cast<std::int64_t>(slots - 1));
  EXPECT_EQ(ready.nearest(5, slots), -1);
  for (std::size_t slot = 0; slot < slots; ++slot) ready.erase(slot);
  EXPECT_EQ(ready.nearest(5, 0), -1);
}

INSTANTIATE_TEST_SUITE_P(Slots, ReadySetOf, testing::Values(64, 128, 4096, 16384));

// Neighbours come and go all the time. Every search that begins after a member was inserted must find it.
TEST(ReadySet, FindsWhatStaysWhileNeighboursComeAndGo) {
  ReadySet ready(4096);
  std::atomic<bool> over{false};
  std::vector<std::thread> neighbours;
  for (const std::size_t slot : {129U, 130U}) {
    neighbours.emplace_back([&ready, &over, slot] {
      while (!over.load()) {
        ready.insert(slot);
        ready.erase(slot);
      }
    });
  }
  int missed = 0;
  for (int round = 0; round < 50'000; ++round) {
    ready.insert(140);
    if (ready.nearest(0, 0) < 0) ++missed;
    if (ready.nearest(140, 0) != 0) ++missed;
    ready.erase(140);
  }
  over.store(true);
  for (std::thread& neighbour : neighbours) neighbour.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(ready.nearest(0, 0), -1);
}

// Every thread has slots of its own, spread over all words. At the end exactly the members that the threads left are
// there.
TEST(ReadySet, LosesNothingAmongManyThreads) {
  constexpr std::size_t slots = 1024, threads = 4;
  ReadySet ready(slots);
  std::vector<std::set<std::size_t>> left(threads);
  std::vector<std::thread> all;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([&ready, &mine = left[thread], thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      for (int step = 0; step < 10'000; ++step) {
        const std::size_t slot = random() % (slots / threads) * threads + thread;
        if (mine.insert(slot).second) {
          ready.insert(slot);
        } else {
          ready.erase(slot);
          mine.erase(slot);
        }
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    EXPECT_EQ(ready.nearest(slot, 0) == 0, left[slot % threads].contains(slot)) << slot;
  }
}

// One thread inserts batches, as a front end does, and each member is found and erased by one of two others.
TEST(ReadySet, GivesTheMembersOfBatchesToThoseWhoSearch) {
  constexpr std::size_t slots = 256, batch = 50, batches = 2000;
  ReadySet ready(slots);
  // 0: free or about to be inserted, when a thread that found it a lap before must not take it yet; 1: inserted; 2:
  // found.
  std::vector<std::atomic<int>> state(slots);
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> takers;
  for (int i = 0; i < 2; ++i) {
    takers.emplace_back([&ready, &state, &taken] {
      while (taken.load() < batch * batches) {
        const std::int64_t slot = ready.nearest(0, 0);
        if (slot < 0) continue;
        int inserted = 1;
        if (!state[static_cast<std::size_t>(slot)].compare_exchange_strong(inserted, 2)) continue;
        ready.erase(static_cast<std::size_t>(slot));
        state[static_cast<std::size_t>(slot)].store(0);
        ++taken;
      }
    });
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i < batches; ++i, first = (first + batch) % slots) {
    for (std::size_t slot = first; slot < first + batch; ++slot) {
      while (state[slot % slots].load() != 0) std::this_thread::yield();
    }
    ready.insert_all(first, (std::uint64_t{1} << batch) - 1);
    for (std::size_t slot = first; slot < first + batch; ++slot) state[slot % slots].store(1);
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(taken.load(), batch * batches);
  EXPECT_EQ(ready.nearest(0, 0), -1);
}

}  // namespace
}  // namespace asyncgrad::detail
