#include "asyncgrad/core/engine/front_end/dependencies.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <list>
#include <vector>

#include "asyncgrad/core/tensor_impl.h"
#include "tests/core/engine/made_up_engine.h"

namespace asyncgrad::tests {
namespace {

using detail::Access;
using detail::OperandRef;
using detail::Operation;
using detail::StagedOperations;
using detail::Storage;

class DependenciesTest : public testing::Test {
 protected:
  ~DependenciesTest() override {
    for (Operation* operation : added_) dependencies_.recycle(*operation);
  }
  // A tensor whose storage nothing has written.
  detail::TensorImpl make() {
    return {.dtype = DType::float32, .storage = engine_.make_storage(64), .shape = {16}, .device = {}};
  }
  // Queues the next operation, with these operands.
  Operation& queue(std::initializer_list<OperandRef> refs) {
    const std::vector<OperandRef> operands(refs);
    Operation& operation = engine_.add(nothing, *operands[0].impl->storage);
    --operands[0].impl->storage->uses;  // link() counts it
    operation.make_room(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      operation.invocation.operands[i].storage = operands[i].impl->storage;
      operation.invocation.views[i].access = operands[i].access;
    }
    operation.edge_count = 0;
    operation.pending = Operation::linking;
    dependencies_.reserve(operands, staged_);
    dependencies_.link(operation, operands, staged_);
    staged_.add(operation);
    added_.push_back(&operation);
    return operation;
  }
  void offer() {
    ready_ = dependencies_.tie(staged_) << staged_.first();
    staged_.clear();
  }
  bool is_ready(std::uint64_t number) const { return (ready_ >> number & 1) != 0; }
  static std::vector<std::uint64_t> successors_of(const Operation& operation) {
    std::vector<std::uint64_t> numbers;
    for (const detail::Edge* edge = operation.successors.load(); edge != nullptr; edge = edge->next) {
      numbers.push_back(edge->successor->number);
    }
    return numbers;
  }

  MadeUpEngine engine_;
  detail::Dependencies dependencies_{engine_.ring};
  StagedOperations staged_;
  std::vector<Operation*> added_;
  std::uint64_t ready_ = 0;  // by number
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(DependenciesTest, AReadWaitsForTheLastWrite) {
  const auto x = make(), y = make();
  const Operation& write = queue({{&x, Access::write}});
  const Operation& read = queue({{&y, Access::write}, {&x, Access::read}});
  EXPECT_EQ(successors_of(write), (Numbers{2}));
  EXPECT_EQ(read.edge_count, 1);
  offer();
  EXPECT_TRUE(is_ready(1));
  EXPECT_FALSE(is_ready(2));
}

TEST_F(DependenciesTest, AWriteWaitsForTheReadersSinceTheLastWrite) {
  const auto x = make(), y = make(), z = make();
  queue({{&x, Access::write}});
  const Operation& first = queue({{&y, Access::write}, {&x, Access::read}});
  const Operation& second = queue({{&z, Access::write}, {&x, Access::read}});
  const Operation& update = queue({{&x, Access::update}});
  EXPECT_EQ(successors_of(first), (Numbers{4}));
  EXPECT_EQ(successors_of(second), (Numbers{4}));
  EXPECT_EQ(update.edge_count, 3) << "of the write, too";
  queue({{&x, Access::update}});
  EXPECT_EQ(successors_of(update), (Numbers{5}));
  EXPECT_EQ(successors_of(first), (Numbers{4})) << "the readers before the last write concern nobody any more";
}

// The writes and the reads that it depends on, directly or not, and nothing else; what is finished is left out.
TEST_F(DependenciesTest, MarksWhatAnOperationNeeds) {
  const auto x = make(), y = make(), z = make(), other = make();
  queue({{&x, Access::write}});                          // 1
  queue({{&y, Access::write}, {&x, Access::read}});      // 2
  queue({{&other, Access::write}});                      // 3
  queue({{&x, Access::update}});                         // 4 waits for 1 and 2
  queue({{&z, Access::write}, {&other, Access::read}});  // 5
  queue({{&x, Access::update}});                         // 6
  offer();
  engine_.ring.order().finish(1, [](std::uint64_t) {});
  detail::Awaited& awaited = engine_.ring.awaited();
  awaited.begin();
  EXPECT_TRUE(dependencies_.mark_needed(4));
  for (std::uint64_t number = 1; number <= 6; ++number) {
    EXPECT_EQ(awaited.has(engine_.ring.slot(number)), number == 2 || number == 4) << number;
  }
  awaited.end();
}

TEST_F(DependenciesTest, MarksBeyondTheEdgesOfAnEntry) {
  const auto x = make();
  queue({{&x, Access::write}});
  for (int i = 0; i < 10; ++i) {
    const auto y = make();
    queue({{&y, Access::write}, {&x, Access::read}});
  }
  const Operation& update = queue({{&x, Access::update}});
  EXPECT_EQ(update.edge_count, 11);
  offer();
  engine_.ring.awaited().begin();
  EXPECT_TRUE(dependencies_.mark_needed(update.number));
  for (std::uint64_t number = 1; number <= update.number; ++number) {
    EXPECT_TRUE(engine_.ring.awaited().has(engine_.ring.slot(number))) << number;
  }
  engine_.ring.awaited().end();
}

TEST_F(DependenciesTest, ReadersDoNotWaitForEachOther) {
  const auto x = make(), y = make(), z = make();
  queue({{&y, Access::write}, {&x, Access::read}});
  queue({{&z, Access::write}, {&x, Access::read}});
  offer();
  EXPECT_TRUE(is_ready(1));
  EXPECT_TRUE(is_ready(2));
}

TEST_F(DependenciesTest, AnOperationDoesNotWaitForItself) {
  const auto x = make();
  EXPECT_EQ(queue({{&x, Access::update}, {&x, Access::read}}).edge_count, 0);
}

// An edge to an operation that was offered before is added only when the new operation is offered.
TEST_F(DependenciesTest, StagedOperationsAreTiedToOfferedOnes) {
  const auto x = make(), y = make();
  const Operation& write = queue({{&x, Access::write}});
  offer();
  const Operation& read = queue({{&y, Access::write}, {&x, Access::read}});
  EXPECT_EQ(successors_of(write), Numbers{});
  offer();
  EXPECT_EQ(successors_of(write), (Numbers{2}));
  EXPECT_EQ(read.pending.load(), 1);
  EXPECT_FALSE(is_ready(2));
}

TEST_F(DependenciesTest, WhatHasEndedMeanwhileIsNotWaitedFor) {
  const auto x = make(), y = make();
  Operation& write = queue({{&x, Access::write}});
  offer();
  queue({{&y, Access::write}, {&x, Access::read}});
  write.successors = detail::closed_list();  // it ends between the call and the offer
  offer();
  EXPECT_TRUE(is_ready(2));
}

TEST_F(DependenciesTest, WhatIsFinishedTakesNoEdge) {
  const auto x = make(), y = make();
  queue({{&x, Access::write}});
  offer();
  EXPECT_FALSE(dependencies_.is_finished({&x, Access::read}));
  engine_.ring.order().finish(1, [](std::uint64_t) {});
  EXPECT_TRUE(dependencies_.is_finished({&x, Access::read}));
  EXPECT_EQ(queue({{&y, Access::write}, {&x, Access::read}}).edge_count, 0);
}

TEST_F(DependenciesTest, MoreEdgesThanARecordHoldsAreTakenAndReturned) {
  constexpr std::uint64_t readers = 20;
  const auto x = make();
  std::list<detail::TensorImpl> results;
  for (std::uint64_t i = 0; i < readers; ++i) {
    results.emplace_back();
    results.back().storage = engine_.make_storage(64);
  }
  for (const detail::TensorImpl& result : results) queue({{&result, Access::write}, {&x, Access::read}});
  Operation& update = queue({{&x, Access::update}});
  EXPECT_EQ(update.edge_count, static_cast<int>(readers));
  EXPECT_NE(update.more_edges, nullptr);
  EXPECT_GT(dependencies_.edge_bytes(), 0);
  dependencies_.recycle(update);
  EXPECT_EQ(update.more_edges, nullptr);
  EXPECT_EQ(update.edge_count, 0);
}

}  // namespace
}  // namespace asyncgrad::tests
