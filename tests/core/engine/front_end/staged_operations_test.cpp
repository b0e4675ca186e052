#include "asyncgrad/core/engine/front_end/staged_operations.h"

#include <gtest/gtest.h>

#include "tests/core/engine/made_up_engine.h"

namespace asyncgrad::tests {
namespace {

using detail::Operation;
using detail::StagedOperations;

class StagedOperationsTest : public testing::Test {
 protected:
  Operation& add_operation() {
    Operation& operation = engine_.add(nothing, *engine_.make_storage(64));
    operation.edge_count = 0;
    return operation;
  }
  MadeUpEngine engine_;
  StagedOperations staged_;
};

TEST_F(StagedOperationsTest, KnowsWhatIsInIt) {
  EXPECT_TRUE(staged_.is_empty());
  EXPECT_FALSE(staged_.has(1));
  staged_.add(add_operation());
  staged_.add(add_operation());
  EXPECT_EQ(staged_.first(), 1U);
  EXPECT_EQ(staged_.executor(), engine_.executor);
  EXPECT_TRUE(staged_.has(1) && staged_.has(2));
  EXPECT_FALSE(staged_.has(0) || staged_.has(3));
}

TEST_F(StagedOperationsTest, TellsWhatIsReadyFromWhatWaits) {
  staged_.add(add_operation());
  Operation& waits_inside = add_operation();
  waits_inside.edge_count = 1;
  staged_.add(waits_inside);
  Operation& waits_outside = add_operation();
  waits_outside.edge_count = 1;
  staged_.reserve(1);
  waits_outside.edge_space[0].successor = &waits_outside;
  staged_.tie(waits_outside.edge_space[0], 1000);
  staged_.add(waits_outside);
  staged_.add(add_operation());
  EXPECT_EQ(staged_.ready(), 0b1001U);
  EXPECT_EQ(staged_.tied(), 0b0100U);
  ASSERT_EQ(staged_.ties().size(), 1U);
  EXPECT_EQ(staged_.ties()[0].predecessor, 1000U);
  EXPECT_EQ(waits_inside.pending.load(), 1) << "its predecessor alone can make it ready";
}

TEST_F(StagedOperationsTest, IsFullAfterAsManyAsAWordHasBits) {
  for (std::uint64_t i = 0; i < StagedOperations::max_count; ++i) {
    EXPECT_FALSE(staged_.is_full());
    staged_.add(add_operation());
  }
  EXPECT_TRUE(staged_.is_full());
  EXPECT_EQ(staged_.ready(), UINT64_MAX);
  staged_.clear();
  EXPECT_TRUE(staged_.is_empty());
  EXPECT_EQ(staged_.ready(), 0U);
  EXPECT_TRUE(staged_.ties().empty());
}

}  // namespace
}  // namespace asyncgrad::tests
