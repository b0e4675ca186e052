#include "asyncgrad/core/memory/page_ranges.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/core/no_new.h"

namespace asyncgrad::detail {
namespace {

constexpr std::int64_t page = 4096;

// Hands out addresses without memory behind them, and refuses requests where a test asks it to.
class FakeSource final : public MemorySource {
 public:
  std::int64_t page_bytes() const override { return page; }
  std::byte* reserve(std::int64_t size_bytes) override {
    std::byte* const begin = next_;
    next_ += size_bytes;
    return begin;
  }
  bool back(std::byte*, std::int64_t size_bytes) override {
    if (throws) throw std::runtime_error("the device has failed");
    if (backed + size_bytes > most) return false;
    backed += size_bytes;
    return true;
  }
  bool unback(std::byte*, std::int64_t size_bytes) override {
    if (keeps) return false;
    backed -= size_bytes;
    return true;
  }

  std::int64_t backed = 0, most = INT64_MAX;
  bool throws = false, keeps = false;

 private:
  std::byte* next_ = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32);
};

TEST(PageRanges, JoinWhatLiesSideBySide) {
  FakeSource source;
  PageRanges ranges(source);
  std::byte *const first = ranges.take_clean(page), *const second = ranges.take_clean(2 * page);
  EXPECT_EQ(second, first + page);
  ranges.give_back(second, 2 * page);
  EXPECT_EQ(ranges.take_kept(3 * page), nullptr);
  ranges.give_back(first, page);
  EXPECT_EQ(ranges.kept_bytes(), 3 * page);
  EXPECT_EQ(ranges.take_kept(3 * page), first);
  EXPECT_EQ(ranges.kept_bytes(), 0);
}

TEST(PageRanges, GiveTheSystemNoMoreThanAsked) {
  FakeSource source;
  PageRanges ranges(source);
  ranges.give_back(ranges.take_clean(10 * page), 10 * page);
  EXPECT_EQ(ranges.trim(4 * page), 1);
  EXPECT_EQ(ranges.kept_bytes(), 4 * page);
  EXPECT_EQ(source.backed, 4 * page);
}

TEST(PageRanges, GiveBackTheSmallestFirst) {
  FakeSource source;
  PageRanges ranges(source);
  std::byte *const large = ranges.take_clean(4 * page), *const between = ranges.take_clean(page),
                   *const small = ranges.take_clean(2 * page);
  ranges.give_back(small, 2 * page);
  ranges.give_back(large, 4 * page);
  EXPECT_EQ(ranges.trim(4 * page), 1);
  EXPECT_EQ(ranges.take_kept(4 * page), large);
  ranges.give_back(between, page);
}

// Two kept pages between clean ones in a region.
class PartlyKeptRange : public testing::Test {
 protected:
  static constexpr std::int64_t region = std::int64_t{64} << 20, after = region - 5 * page;

  PartlyKeptRange() {
    begin = ranges.take_clean(3 * page);
    kept = ranges.take_clean(2 * page);
    std::byte* const end = ranges.take_clean(after);
    ranges.give_back(begin, 3 * page);
    ranges.give_back(end, after);
    ranges.trim(0);
    ranges.give_back(kept, 2 * page);
  }

  // Null if there is no such range, or no memory.
  std::byte* extend(std::int64_t size_bytes) {
    const std::optional<PageRanges::Extension> extension = ranges.claim_extension(size_bytes);
    return extension ? ranges.complete(*extension) : nullptr;
  }

  FakeSource source;
  PageRanges ranges{source};
  std::byte *begin, *kept;
};

TEST_F(PartlyKeptRange, GrowsUpwards) {
  EXPECT_EQ(extend(6 * page), kept);
  EXPECT_EQ(source.backed, 6 * page);
  EXPECT_EQ(ranges.kept_bytes(), 0);
  EXPECT_EQ(ranges.take_clean(after - 4 * page), kept + 6 * page);
}

TEST_F(PartlyKeptRange, GrowsDownwardsWhereNothingIsFreeAbove) {
  std::byte* const above = ranges.take_clean(after);
  EXPECT_EQ(above, kept + 2 * page);
  EXPECT_EQ(extend(4 * page), kept - 2 * page);
  EXPECT_EQ(source.backed, after + 4 * page);
  EXPECT_EQ(ranges.take_clean(page), begin);
}

TEST_F(PartlyKeptRange, GrowsByAtMostThreeTimesItsSize) {
  EXPECT_EQ(extend(9 * page), nullptr);
  EXPECT_EQ(extend(8 * page), kept);
}

TEST_F(PartlyKeptRange, EndsWhereItsRegionEnds) {
  std::byte* const next_region = ranges.take_clean(region);
  EXPECT_EQ(next_region, begin + region);
  ranges.give_back(next_region, region);
  EXPECT_EQ(extend(region + page), nullptr);
}

TEST_F(PartlyKeptRange, TakesNoMemoryUntilItIsComplete) {
  const std::optional<PageRanges::Extension> extension = ranges.claim_extension(6 * page);
  ASSERT_TRUE(extension.has_value());
  EXPECT_EQ(source.backed, 2 * page);
  EXPECT_EQ(ranges.kept_bytes(), 0);
  EXPECT_EQ(ranges.trim(0), 0);  // it is no longer kept
  ranges.give_up(*extension);
  EXPECT_EQ(source.backed, 2 * page);
  EXPECT_EQ(ranges.kept_bytes(), 2 * page);
  EXPECT_EQ(extend(6 * page), kept);
}

TEST_F(PartlyKeptRange, StaysWhereTheSystemHasNoMemory) {
  source.most = source.backed;
  EXPECT_EQ(extend(6 * page), nullptr);
  source.throws = true;
  EXPECT_THROW(extend(6 * page), std::runtime_error);
  source.most = INT64_MAX;
  source.throws = false;
  EXPECT_EQ(ranges.kept_bytes(), 2 * page);
  EXPECT_EQ(ranges.take_kept(2 * page), kept);
  EXPECT_EQ(ranges.take_clean(after), kept + 2 * page);
}

TEST(PageRanges, KeepWhatTheSystemDoesNotTake) {
  FakeSource source;
  PageRanges ranges(source);
  std::byte* const block = ranges.take_clean(10 * page);
  ranges.give_back(block, 10 * page);
  source.keeps = true;
  EXPECT_EQ(ranges.trim(0), 1);
  EXPECT_EQ(ranges.kept_bytes(), 10 * page);
  EXPECT_EQ(ranges.take_kept(10 * page), block);
}

TEST(PageRanges, LoseNothingWhereThereIsNoMemory) {
  FakeSource source;
  PageRanges ranges(source);
  source.most = 4 * page;
  EXPECT_EQ(ranges.take_clean(8 * page), nullptr);
  source.throws = true;
  EXPECT_THROW(ranges.take_clean(page), std::runtime_error);
  source.throws = false;
  std::byte* const block = ranges.take_clean(page);
  source.most = INT64_MAX;
  EXPECT_EQ(ranges.take_clean(std::int64_t{64 << 20} - page), block + page);  // all the rest of the region
}

// This is the worst order: every other block goes back, so that no ranges join, and trims cut ranges in two.
TEST(PageRanges, NeedNoMemoryToGiveBack) {
  FakeSource source;
  PageRanges ranges(source);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(ranges.take_clean(4 * page));
  const tests::NoNew no_new;
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    ranges.give_back(blocks[i], 4 * page);
    ranges.trim(ranges.kept_bytes() - page);
  }
  for (std::size_t i = 1; i < blocks.size(); i += 2) ranges.give_back(blocks[i], 4 * page);
  ranges.trim(0);
  EXPECT_EQ(ranges.kept_bytes(), 0);
  EXPECT_EQ(source.backed, 0);
}

TEST(PageRanges, TakeNothingWithoutMemoryForTheirRecords) {
  FakeSource source;
  PageRanges ranges(source);
  bool was_refused = false;
  {
    const tests::NoNew no_new;
    try {
      for (;;) ranges.take_clean(page);  // until the small objects that are kept run out
    } catch (const std::bad_alloc&) {
      was_refused = true;
    }
  }
  EXPECT_TRUE(was_refused);
  const std::int64_t backed = source.backed;
  EXPECT_NE(ranges.take_clean(page), nullptr);
  EXPECT_EQ(source.backed, backed + page);
}

}  // namespace
}  // namespace asyncgrad::detail
