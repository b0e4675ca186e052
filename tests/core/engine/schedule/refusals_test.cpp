// These tests note what was refused, and see who has to call a thread for it.
#include "asyncgrad/core/engine/schedule/refusals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {
namespace {

constexpr auto anything = [](std::uint64_t, std::int64_t) { return true; };
constexpr auto nothing = [](std::uint64_t, std::int64_t) { return false; };

TEST(Refusals, AreTakenOnceAndOnlyIfTheLeastFits) {
  Refusals refusals;
  EXPECT_FALSE(refusals.is_marked());
  EXPECT_FALSE(refusals.take(anything)) << "there is no mark";
  refusals.note(7, 300);
  refusals.note(9, 200);
  refusals.note(8, 400);
  EXPECT_FALSE(refusals.take(nothing));
  EXPECT_TRUE(refusals.is_marked());
  EXPECT_TRUE(refusals.take([](std::uint64_t place, std::int64_t bytes) { return place == 7 && bytes == 200; }));
  EXPECT_FALSE(refusals.is_marked());
  EXPECT_FALSE(refusals.take(anything));
  refusals.note(12, 500);
  EXPECT_TRUE(refusals.take([](std::uint64_t place, std::int64_t bytes) { return place == 12 && bytes == 500; }))
      << "what was taken is forgotten";
}

TEST(Refusals, OfWhatMayFitAtAnyMomentAskForNothing) {
  Refusals refusals;
  refusals.note(7, 300);
  refusals.note_any();
  EXPECT_TRUE(refusals.take([](std::uint64_t place, std::int64_t bytes) { return place == 0 && bytes == 0; }));
}

// Threads are refused and ask once more, as admission's do; others make room and look for refusals. A thread that is
// refused waits until there is room or a call, and a lost call would hang the test.
TEST(Refusals, LoseNoCall) {
  constexpr int rounds = tests::is_sanitized ? 4000 : 20'000, refused_threads = 2;
  Refusals refusals;
  std::atomic<std::int64_t> room{0}, calls{0};
  std::atomic<int> running{refused_threads};
  const auto take = [](std::atomic<std::int64_t>& from, std::int64_t count) {
    std::int64_t known = from.load(std::memory_order_seq_cst);
    while (known >= count && !from.compare_exchange_weak(known, known - count, std::memory_order_seq_cst)) {
    }
    return known >= count;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < refused_threads; ++i) {
    threads.emplace_back([&, bytes = std::int64_t{i + 1}] {
      for (int round = 0; round < rounds; ++round) {
        while (!take(room, bytes)) {
          refusals.note(1, bytes);
          if (take(room, bytes)) break;
          while (!take(calls, 1)) std::this_thread::yield();
        }
      }
      --running;
      calls.fetch_add(1, std::memory_order_seq_cst);  // the other one may have given its call to this thread
    });
  }
  while (running > 0) {
    if (room.load(std::memory_order_seq_cst) < 2) room.fetch_add(1, std::memory_order_seq_cst);
    const bool has_taken = refusals.take(
        [&room](std::uint64_t, std::int64_t bytes) { return room.load(std::memory_order_seq_cst) >= bytes; });
    if (has_taken) calls.fetch_add(refused_threads, std::memory_order_seq_cst);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace asyncgrad::detail
