#include "asyncgrad/core/engine/front_end/batch.h"

#include <gtest/gtest.h>

#include "tests/core/engine/made_up_engine.h"

namespace asyncgrad::tests {
namespace {

using detail::Batch;
using detail::Operation;

const detail::Kernel nothing{.run = [](const detail::KernelCall&, int) {}};

class BatchTest : public testing::Test {
 protected:
  Operation& add_operation() {
    Operation& operation = engine_.add(nothing, *engine_.make_storage(64));
    operation.edge_count = 0;
    return operation;
  }
  MadeUpEngine engine_;
  Batch batch_;
};

TEST_F(BatchTest, KnowsWhatIsInIt) {
  EXPECT_TRUE(batch_.is_empty());
  EXPECT_FALSE(batch_.has(1));
  batch_.add(add_operation());
  batch_.add(add_operation());
  EXPECT_EQ(batch_.first(), 1U);
  EXPECT_EQ(batch_.executor(), engine_.executor);
  EXPECT_TRUE(batch_.has(1) && batch_.has(2));
  EXPECT_FALSE(batch_.has(0) || batch_.has(3));
}

TEST_F(BatchTest, TellsWhatIsReadyFromWhatWaits) {
  batch_.add(add_operation());
  Operation& waits_inside = add_operation();
  waits_inside.edge_count = 1;
  batch_.add(waits_inside);
  Operation& waits_outside = add_operation();
  waits_outside.edge_count = 1;
  batch_.reserve(1);
  waits_outside.edge_space[0].successor = &waits_outside;
  batch_.tie(waits_outside.edge_space[0], 1000);
  batch_.add(waits_outside);
  batch_.add(add_operation());
  EXPECT_EQ(batch_.ready(), 0b1001U);
  EXPECT_EQ(batch_.tied(), 0b0100U);
  ASSERT_EQ(batch_.ties().size(), 1U);
  EXPECT_EQ(batch_.ties()[0].predecessor, 1000U);
  EXPECT_EQ(waits_inside.pending.load(), 1) << "its predecessor alone can make it ready";
}

TEST_F(BatchTest, IsFullAfterAsManyAsAWordHasBits) {
  for (std::uint64_t i = 0; i < Batch::most; ++i) {
    EXPECT_FALSE(batch_.is_full());
    batch_.add(add_operation());
  }
  EXPECT_TRUE(batch_.is_full());
  EXPECT_EQ(batch_.ready(), UINT64_MAX);
  batch_.clear();
  EXPECT_TRUE(batch_.is_empty());
  EXPECT_EQ(batch_.ready(), 0U);
  EXPECT_TRUE(batch_.ties().empty());
}

}  // namespace
}  // namespace asyncgrad::tests
