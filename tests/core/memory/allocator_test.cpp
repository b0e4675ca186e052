#include "asyncgrad/core/memory/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "tests/core/no_new.h"

namespace asyncgrad::detail {
namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

bool is_aligned(const std::byte* block) { return reinterpret_cast<std::uintptr_t>(block) % 64 == 0; }

TEST(Allocator, CountsWhatItGives) {
  Allocator allocator;
  EXPECT_EQ(allocator.take(0), nullptr);
  std::byte* small = allocator.take(64);
  std::byte* large = allocator.take(8 * mebi);
  EXPECT_TRUE(is_aligned(small) && is_aligned(large));
  EXPECT_EQ(allocator.figures().live_bytes, 64 + 8 * mebi);
  allocator.give_back(large, 8 * mebi);
  allocator.give_back(nullptr, 0);
  EXPECT_EQ(allocator.figures().live_bytes, 64);
  EXPECT_EQ(allocator.figures().peak_live_bytes, 64 + 8 * mebi);
  EXPECT_EQ(allocator.figures().cached_bytes, 8 * mebi);
  allocator.reset_peak();
  EXPECT_EQ(allocator.figures().peak_live_bytes, 64);
  allocator.give_back(small, 64);
  allocator.trim();
}

TEST(Allocator, GivesReturnedBlocksAgainWithoutTheSystem) {
  Allocator allocator;
  for (const std::int64_t size : {std::int64_t{640}, 4 * mebi}) {
    allocator.give_back(allocator.take(size), size);
    const std::int64_t calls = allocator.figures().system_calls;
    for (int i = 0; i < 10; ++i) allocator.give_back(allocator.take(size), size);
    EXPECT_EQ(allocator.figures().system_calls, calls) << size;
  }
  allocator.trim();
  EXPECT_EQ(allocator.figures().cached_bytes, 0);
}

TEST(Allocator, TrimsToWhatIsAsked) {
  Allocator allocator;
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(allocator.take(64'000));
  for (std::byte* block : blocks) allocator.give_back(block, 64'000);
  EXPECT_EQ(allocator.figures().cached_bytes, 8 * 64'000);
  allocator.trim(200'000);
  EXPECT_LE(allocator.figures().cached_bytes, 200'000);
  EXPECT_GT(allocator.figures().cached_bytes, 100'000);
  allocator.trim();
  EXPECT_EQ(allocator.figures().cached_bytes, 0);
}

TEST(Allocator, KeepsNoMoreThanItMay) {
  for (const std::int64_t max_cached : {std::int64_t{0}, std::int64_t{100'000}, 5 * mebi}) {
    Allocator allocator;
    allocator.set_max_cached(max_cached);
    std::vector<std::pair<std::byte*, std::int64_t>> blocks;
    for (int i = 0; i < 8; ++i) {
      for (const std::int64_t size : {std::int64_t{64}, std::int64_t{64'000}, 2 * mebi}) {
        blocks.emplace_back(allocator.take(size), size);
      }
    }
    for (const auto& [block, size] : blocks) {
      allocator.give_back(block, size);
      EXPECT_LE(allocator.figures().cached_bytes, max_cached);
    }
    EXPECT_GE(allocator.figures().cached_bytes, max_cached / 2);  // nor much less
    allocator.trim();
  }
}

TEST(Allocator, GivesBackWhatIsAboveANewBound) {
  Allocator allocator;
  std::byte *small = allocator.take(64'000), *large = allocator.take(4 * mebi);
  allocator.give_back(small, 64'000);
  allocator.give_back(large, 4 * mebi);
  allocator.set_max_cached(mebi);
  EXPECT_LE(allocator.figures().cached_bytes, mebi);
  allocator.set_max_cached(0);
  EXPECT_EQ(allocator.figures().cached_bytes, 0);
}

// An asynchronous device may still be using cached blocks, so that take() waits for it before it gives them back.
TEST(Allocator, WaitsForTheDeviceBeforeItKeepsLess) {
  Allocator allocator;
  allocator.set_max_cached(0);
  int waits = 0;
  allocator.set_before_trim([&waits] { ++waits; });
  std::byte* first = allocator.take(2 * mebi);
  allocator.give_back(first, 2 * mebi);
  EXPECT_EQ(allocator.figures().cached_bytes, 2 * mebi);
  EXPECT_EQ(waits, 0);
  std::byte* larger = allocator.take(9 * mebi);  // too large to contain the cached block
  EXPECT_EQ(allocator.figures().cached_bytes, 0);
  EXPECT_EQ(waits, 1);
  allocator.give_back(larger, 9 * mebi);
  allocator.trim();
}

TEST(Allocator, SaysWhenThereIsNoMemoryAndGoesOn) {
  Allocator allocator;
  EXPECT_THROW(allocator.take(std::int64_t{1} << 48), std::bad_alloc);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
  std::byte* block = allocator.take(2 * mebi);
  ASSERT_NE(block, nullptr);
  allocator.give_back(block, 2 * mebi);
  allocator.trim();
}

TEST(Allocator, CountsTinyBlocksBesideLargeOnes) {
  Allocator allocator;
  std::byte *first = allocator.take(64), *second = allocator.take(512);
  EXPECT_TRUE(is_aligned(first) && is_aligned(second));
  EXPECT_EQ(allocator.figures().live_bytes, 576);
  allocator.give_back(first, 64);
  first = allocator.take(128);
  EXPECT_EQ(allocator.figures().peak_live_bytes, 640);
  allocator.give_back(first, 128);
  allocator.give_back(second, 512);
  std::byte* const large = allocator.take(2 * mebi);
  EXPECT_EQ(allocator.figures().peak_live_bytes, 2 * mebi);
  allocator.give_back(allocator.take(512), 512);
  EXPECT_EQ(allocator.figures().peak_live_bytes, 2 * mebi + 512);
  first = allocator.take(64);
  allocator.reset_peak();
  EXPECT_EQ(allocator.figures().peak_live_bytes, 2 * mebi + 64);
  allocator.give_back(large, 2 * mebi);
  allocator.give_back(first, 64);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
  allocator.trim();
}

TEST(Allocator, TellsOtherThreadsOfEveryTinyBlockAtOnce) {
  Allocator allocator;
  std::vector<std::byte*> blocks;
  std::atomic<int> taken{0}, seen{0};
  std::thread thread([&] {
    for (int i = 1; i <= 100; ++i) {
      blocks.push_back(allocator.take(64));
      taken.store(i);
      while (seen.load() < i) std::this_thread::yield();
    }
  });
  for (int i = 1; i <= 100; ++i) {
    while (taken.load() < i) std::this_thread::yield();
    EXPECT_EQ(allocator.figures().live_bytes, i * 64);
    EXPECT_EQ(allocator.figures().peak_live_bytes, i * 64);
    seen.store(i);
  }
  thread.join();
  for (std::byte* block : blocks) allocator.give_back(block, 64);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
}

// Each thread holds at most `held` blocks. The peak is never more than all threads may hold together, and never less
// than what a thread sees that it holds itself.
TEST(Allocator, CountsThePeakOfManyThreadsToTheByte) {
  constexpr int threads = 4, held = 10;
  Allocator allocator;
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      std::vector<std::byte*> blocks;
      for (int round = 0; round < 2000; ++round) {
        for (int i = 0; i < held; ++i) blocks.push_back(allocator.take(64));
        EXPECT_GE(allocator.figures().peak_live_bytes, held * 64);
        for (; !blocks.empty(); blocks.pop_back()) allocator.give_back(blocks.back(), 64);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_LE(allocator.figures().peak_live_bytes, threads * held * 64);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
}

TEST(Allocator, AsksForEachBlockWhileATestMakesSomeFail) {
  Allocator allocator;
  std::byte* const block = allocator.take(64);
  allocator.set_fault([](std::int64_t) { return true; });
  EXPECT_THROW(allocator.take(64), std::bad_alloc);
  allocator.set_fault(nullptr);
  allocator.give_back(block, 64);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
}

// Memory is given back where nothing may fail, so that giving it back must never need memory.
TEST(Allocator, NeedsNoMemoryToGiveBack) {
  for (const std::int64_t max_cached : {INT64_MAX, 3 * mebi, std::int64_t{0}}) {
    Allocator allocator;
    std::mt19937 random(7);
    std::vector<std::pair<std::byte*, std::int64_t>> blocks;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 200; ++i) {
        const std::int64_t size = i % 3 == 0 ? mebi + 4096 * (random() % 600) : 64 * (1 + random() % 4000);
        blocks.emplace_back(allocator.take(size), size);
      }
      std::shuffle(blocks.begin(), blocks.end(), random);
      allocator.set_max_cached(max_cached);
      const tests::NoNew no_new;
      for (const auto& [block, size] : blocks) allocator.give_back(block, size);
      blocks.clear();
    }
    EXPECT_EQ(allocator.figures().live_bytes, 0);
    allocator.trim();
    EXPECT_EQ(allocator.figures().cached_bytes, 0);
  }
}

// Blocks that several threads hold at once never overlap: each thread writes its own mark, and finds it again.
TEST(Allocator, GivesEveryBlockToOneThread) {
  Allocator allocator;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<std::pair<std::byte*, std::int64_t>> held;
      const auto give_back = [&](std::size_t i) {
        const auto [block, size] = held[i];
        if (block[0] != std::byte(thread) || block[size - 1] != std::byte(thread)) ++wrong;
        allocator.give_back(block, size);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      };
      for (int step = 0; step < 2000; ++step) {
        if (held.size() > 6) give_back(random() % held.size());
        const std::int64_t size = random() % 8 == 0 ? (1 + random() % 3) * mebi : 64 * (1 + random() % 30);
        std::byte* block = allocator.take(size);
        block[0] = block[size - 1] = std::byte(thread);
        held.emplace_back(block, size);
        if (step % 500 == 0) allocator.trim(mebi);
      }
      while (!held.empty()) give_back(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
  allocator.trim();
}

// Backs no more than is left to it and to others.
class Sharing final : public MemorySource {
 public:
  explicit Sharing(std::int64_t& left) : left_(left) {}
  std::int64_t page_bytes() const override { return host_memory().page_bytes(); }
  std::byte* reserve(std::int64_t size_bytes) override { return host_memory().reserve(size_bytes); }
  bool back(std::byte*, std::int64_t size_bytes) override {
    if (size_bytes > left_) return false;
    left_ -= size_bytes;
    return true;
  }
  bool unback(std::byte*, std::int64_t size_bytes) override {
    left_ += size_bytes;
    return true;
  }

 private:
  std::int64_t& left_;
};

TEST(Allocator, GivesBackPinnedAndOtherBlocksForEachOther) {
  constexpr std::int64_t size = 6 * mebi;
  std::int64_t left = 8 * mebi;
  Sharing source(left), pinned(left);
  Allocator allocator(source);
  allocator.use_pinned(pinned);
  allocator.give_back(allocator.take(size), size);
  allocator.give_back_pinned(allocator.take_pinned(size), size);
  allocator.give_back(allocator.take(size), size);
  allocator.give_back_pinned(allocator.take_pinned(size), size);
  allocator.give_back_workspace(allocator.take_workspace(size), size);
  std::byte* const block = allocator.take_pinned(size);
  EXPECT_THROW(allocator.take(size), std::bad_alloc);
  allocator.give_back_pinned(block, size);
  EXPECT_EQ(allocator.figures().live_bytes, 0);
}

// Remembers how much was backed at once.
class Counting final : public MemorySource {
 public:
  std::int64_t page_bytes() const override { return host_memory().page_bytes(); }
  std::byte* reserve(std::int64_t size_bytes) override { return host_memory().reserve(size_bytes); }
  bool back(std::byte*, std::int64_t size_bytes) override {
    backed += size_bytes;
    most = std::max(most, backed);
    return true;
  }
  bool unback(std::byte*, std::int64_t size_bytes) override {
    backed -= size_bytes;
    return true;
  }

  std::int64_t backed = 0, most = 0;
};

// The order of a small program's operations varies, and its blocks are large beside its limit.
TEST(Allocator, KeepsTheBlocksOfASmallProgram) {
  Counting source;
  Allocator allocator(source);
  allocator.set_limit(5 * mebi);
  std::byte *const a = allocator.take(2 * mebi), *const b = allocator.take(mebi), *const c = allocator.take(2 * mebi),
                   *const d = allocator.take(mebi);
  allocator.give_back(a, 2 * mebi);
  allocator.give_back(c, 2 * mebi);
  std::byte* const e = allocator.take(3 * mebi);  // neither of the free ones is long enough
  EXPECT_EQ(source.backed, 9 * mebi);
  for (std::byte* const block : {b, d}) allocator.give_back(block, mebi);
  allocator.give_back(e, 3 * mebi);
  allocator.trim();
}

TEST(Allocator, StaysWithinItsLimitWhileItExtendsACachedBlock) {
  constexpr std::int64_t limit = 64 * mebi;
  Counting source;
  Allocator allocator(source);
  allocator.set_limit(limit);
  std::byte *const large = allocator.take(40 * mebi), *const between = allocator.take(2 * mebi),
                   *const other = allocator.take(30 * mebi);
  allocator.give_back(large, 40 * mebi);
  allocator.give_back(other, 30 * mebi);
  source.most = source.backed;
  std::byte* const block = allocator.take(60 * mebi);
  EXPECT_LE(source.most, limit + limit / 8 + 4 * mebi);
  allocator.give_back(block, 60 * mebi);
  allocator.give_back(between, 2 * mebi);
  allocator.trim();
}

}  // namespace
}  // namespace asyncgrad::detail
