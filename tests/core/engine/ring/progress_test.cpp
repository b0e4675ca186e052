// The word of an entry, while threads begin its tiles.
#include <gtest/gtest.h>

#include "asyncgrad/core/engine/ring/operation.h"

namespace asyncgrad::detail {
namespace {

// Each bit of `choices` says at which end a tile is taken.
TEST(Progress, TilesAreTakenOnceFromBothEnds) {
  constexpr int tiles = 5;
  for (unsigned choices = 0; choices < 1U << tiles; ++choices) {
    Progress progress = Progress::opened(7, tiles);
    unsigned taken = 0;
    for (int i = 0; i < tiles; ++i) {
      EXPECT_EQ(progress.tiles_left(), tiles - i);
      const int tile = progress.take_tile((choices >> i & 1) != 0);
      EXPECT_EQ(taken >> tile & 1, 0U);
      taken |= 1U << tile;
      progress = Progress::of(progress.word());
      EXPECT_TRUE(progress.is_of(7));
      EXPECT_TRUE(progress.is_open()) << "no other state looks like it";
      EXPECT_FALSE(progress.is_ready());
    }
    EXPECT_EQ(taken, (1U << tiles) - 1);
    EXPECT_EQ(progress.tiles_left(), 0);
  }
}

TEST(Progress, CountsAsManyTilesAsItMayHave) {
  Progress progress = Progress::opened(7, Progress::max_tiles);
  EXPECT_EQ(progress.tiles_left(), Progress::max_tiles);
  EXPECT_EQ(progress.take_tile(/*last=*/true), Progress::max_tiles - 1);
  EXPECT_EQ(progress.take_tile(/*last=*/false), 0);
  EXPECT_EQ(progress.tiles_left(), Progress::max_tiles - 2);
}

TEST(Progress, OfAnotherStateHasNoTiles) {
  for (const std::uint16_t state : {Progress::blocked, Progress::ready, Progress::claimed}) {
    const Progress progress = Progress::of(Progress::word_of(7, state));
    EXPECT_TRUE(progress.is(state));
    EXPECT_FALSE(progress.is_open());
    EXPECT_EQ(progress.tiles_left(), 0);
  }
}

}  // namespace
}  // namespace asyncgrad::detail
