#include "asyncgrad/backends/cpu/tiling.h"

#include <gtest/gtest.h>

namespace asyncgrad::detail {

namespace {

TEST(Tiles, FollowEachOtherAndHaveElements) {
  for (const std::int64_t items : {1, 7, 16, 100, 65536}) {
    for (const std::int64_t total : {1, 2, 15, 17, 100, 1601, 65536, 65537, 100003, 1000000}) {
      const int count = tile_count(total, items);
      std::int64_t end = 0;
      for (int tile = 0; tile < count; ++tile) {
        const Range range = tile_range(total, items, tile);
        EXPECT_EQ(range.begin, end);
        EXPECT_GT(range.end, range.begin) << tile << " of " << count;
        EXPECT_LE(range.end - range.begin, items);
        end = range.end;
      }
      EXPECT_EQ(end, total);
    }
  }
  EXPECT_EQ(tile_count(0, 5), 1);
  EXPECT_EQ(tile_range(0, 5, 0).end, 0);
}

TEST(Tiles, ThatAreFewAreAboutAsLong) {
  const Range first = tile_range(100003, 65536, 0), last = tile_range(100003, 65536, 1);
  EXPECT_EQ(first.end % 4096, 0);
  EXPECT_LE(first.end - first.begin - (last.end - last.begin), 8192);
}

TEST(Tiles, KeepTogetherWhatSharesALine) {
  EXPECT_EQ(tile_range(24, 16, 0, 16).end, 16);
  for (const std::int64_t total : {17, 100, 300, 1000}) {
    for (int tile = 0; tile < tile_count(total, 64); ++tile) {
      const Range range = tile_range(total, 64, tile, 16);
      EXPECT_EQ(range.begin % 16, 0);
      EXPECT_GT(range.end, range.begin);
    }
  }
}

}  // namespace

}  // namespace asyncgrad::detail
