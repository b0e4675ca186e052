#include "asyncgrad/core/memory/block_lists.h"

#include <gtest/gtest.h>

#include <array>

namespace asyncgrad::detail {
namespace {

TEST(BlockLists, GiveTheBlocksOfASizeThatCameLast) {
  BlockLists lists(1024);
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

}  // namespace
}  // namespace asyncgrad::detail
