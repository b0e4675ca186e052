#include "asyncgrad/core/memory/block_lists.h"

#include <gtest/gtest.h>

#include <array>

namespace asyncgrad::detail {
namespace {

TEST(BlockLists, GiveTheBlocksOfASizeThatCameLast) {
  BlockLists lists(1024, BlockOrder::last_first);
  std::array<std::byte, 3> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) lists.add();
  EXPECT_FALSE(lists.has(128));
  EXPECT_EQ(lists.take(128), nullptr);
  lists.put(&blocks[0], 128);
  lists.put(&blocks[1], 128);
  lists.put(&blocks[2], 960);
  EXPECT_TRUE(lists.has(128) && lists.has(960) && !lists.has(64));
  EXPECT_EQ(lists.bytes(), 2 * 128 + 960);
  EXPECT_EQ(lists.take(128), &blocks[1]);
  EXPECT_EQ(lists.take(128), &blocks[0]);
  EXPECT_EQ(lists.take(128), nullptr);
  EXPECT_EQ(lists.take(960), &blocks[2]);
  EXPECT_EQ(lists.bytes(), 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) lists.remove();
}

// The same blocks come in the same order however they were given back, which a launch graph needs.
TEST(BlockLists, GiveTheLowestBlockOfASize) {
  BlockLists lists(1024, BlockOrder::lowest_first);
  std::array<std::byte, 40> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) lists.add();
  for (std::size_t i = 0; i < blocks.size(); ++i) lists.put(&blocks[i * 7 % blocks.size()], 128);
  for (int round = 0; round < 3; ++round) {
    for (std::byte& block : blocks) ASSERT_EQ(lists.take(128), &block);
    EXPECT_EQ(lists.take(128), nullptr);
    for (std::size_t i = 0; i < blocks.size(); ++i) lists.put(&blocks[i * 11 % blocks.size()], 128);
  }
  EXPECT_EQ(lists.take(128), &blocks[0]);
  EXPECT_EQ(lists.take(128), &blocks[1]);
  lists.put(&blocks[0], 128);
  EXPECT_EQ(lists.take(128), &blocks[0]);
  for (int taken = 0; taken < 2; ++taken) lists.remove();
}

}  // namespace
}  // namespace asyncgrad::detail
