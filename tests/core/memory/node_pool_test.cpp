#include "asyncgrad/core/memory/node_pool.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/core/no_new.h"

namespace asyncgrad::detail {
namespace {

TEST(NodePool, GivesContainersWhatWasReserved) {
  NodePool pool;
  using Set = std::set<int, std::less<>, NodePool::Allocator<int>>;
  Set set{Set::allocator_type(pool)};
  pool.reserve(100);
  EXPECT_EQ(pool.spare(), 100U);
  {
    const tests::NoNew no_new;
    for (int i = 0; i < 100; ++i) set.insert(i);
  }
  EXPECT_EQ(pool.spare(), 0U);
  set.erase(set.begin(), set.find(60));
  EXPECT_EQ(pool.spare(), 60U);
  pool.reserve(10);  // there are as many
  EXPECT_EQ(pool.spare(), 60U);
}

}  // namespace
}  // namespace asyncgrad::detail
