#include "asyncgrad/core/memory/small_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tests/core/no_new.h"

namespace asyncgrad::detail {
namespace {

TEST(SmallObjects, AreAlignedAndApart) {
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) {
    blocks.push_back(SmallObjects::take(100));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % 64, 0U);
    std::memset(blocks.back(), i, 128);
  }
  std::ranges::sort(blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GE(static_cast<std::byte*>(blocks[i]) - static_cast<std::byte*>(blocks[i - 1]), 128);
  }
  for (void* block : blocks) SmallObjects::give_back(block, 100);
}

// A large block that is given back is not kept: the next one needs memory of the system.
TEST(SmallObjects, LargeOnesAreTheSystems) {
  void* const block = SmallObjects::take(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
  std::memset(block, 1, 5000);
  SmallObjects::give_back(block, 5000);
  const auto take_without_memory = [] {
    const tests::NoNew no_new;
    SmallObjects::take(5000);
  };
  EXPECT_THROW(take_without_memory(), std::bad_alloc);
}

// Other threads take the blocks that one thread gives back, and no block is given out twice.
TEST(SmallObjects, GoFromThreadToThread) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(SmallObjects::take(64));
  std::thread([&] {
    const tests::NoNew no_new;  // even a new thread needs no memory to give blocks back
    for (void* block : blocks) SmallObjects::give_back(block, 64);
  }).join();
  std::vector<void*> again;
  for (int i = 0; i < 2000; ++i) again.push_back(SmallObjects::take(64));
  EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), again.size());
#if !defined(__SANITIZE_ADDRESS__)
  const std::set<void*> found(again.begin(), again.end());
  EXPECT_TRUE(std::ranges::all_of(blocks, [&found](void* block) { return found.contains(block); }));
#endif
  for (void* block : again) SmallObjects::give_back(block, 64);
}

}  // namespace
}  // namespace asyncgrad::detail
