// How a thread chooses and runs the operations of a part of the CPU.
#include "asyncgrad/core/engine/schedule/cpu_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/error.h"
#include "tests/core/engine/made_up_engine.h"

namespace asyncgrad::tests {
namespace {

using detail::Kernel;
using detail::Operation;
using detail::Storage;
using detail::Turn;

// The operands of the kernels, in the order in which they ran.
std::vector<const std::byte*> ran;

const Kernel noting{.run = [](const detail::KernelCall& call, int) { ran.push_back(call.bytes(0)); }};
const Kernel failing{.run = [](const detail::KernelCall&, int) { throw Error("made up"); }};
const Kernel in_three_tiles{
    .run = [](const detail::KernelCall& call, int tile) { ran.push_back(call.bytes(0) + tile); },
    .tiles = [](const detail::KernelCall&) { return 3; }};

class CpuExecutorTest : public testing::Test {
 protected:
  CpuExecutorTest() { ran.clear(); }
  bool run_one(MadeUpEngine& engine, Turn& turn) { return engine.executor->run_one(turn); }
};

// Two operations that have become ready, the younger one first.
struct TwoReady {
  explicit TwoReady(bool by_arrival) : engine(by_arrival) {
    Operation& older = engine.add(noting, *first);
    Operation& younger = engine.add(noting, *second);
    engine.executor->make_ready(younger);
    engine.executor->make_ready(older);
  }
  MadeUpEngine engine;
  Storage *first = engine.make_storage(64), *second = engine.make_storage(64);
};

TEST_F(CpuExecutorTest, RunsTheOldestThatIsReady) {
  TwoReady two(/*by_arrival=*/false);
  Turn turn;
  EXPECT_TRUE(run_one(two.engine, turn));
  EXPECT_TRUE(run_one(two.engine, turn));
  EXPECT_FALSE(run_one(two.engine, turn));
  EXPECT_EQ(ran, (std::vector<const std::byte*>{two.first->data, two.second->data}));
  EXPECT_EQ(two.engine.ring.oldest().load(), 3U);
  EXPECT_FALSE(two.engine.executor->has_ready());
}

TEST_F(CpuExecutorTest, RunsInOrderOfArrivalIfItIsMadeSo) {
  TwoReady two(/*by_arrival=*/true);
  Turn turn;
  while (run_one(two.engine, turn)) {
  }
  EXPECT_EQ(ran, (std::vector<const std::byte*>{two.second->data, two.first->data}));
}

TEST_F(CpuExecutorTest, LeavesWhatIsYoungerThanTheLimit) {
  MadeUpEngine engine;
  engine.executor->make_ready(engine.add(noting, *engine.make_storage(64)));
  engine.executor->make_ready(engine.add(noting, *engine.make_storage(64)));
  Turn turn{.limit = 1};
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_FALSE(run_one(engine, turn));
  EXPECT_TRUE(engine.executor->has_ready());
}

// The oldest successor is the thread's own next operation, which no other thread may take.
TEST_F(CpuExecutorTest, GoesOnWithTheOldestSuccessor) {
  MadeUpEngine engine;
  Storage *first = engine.make_storage(64), *second = engine.make_storage(64), *third = engine.make_storage(64);
  Operation& a = engine.add(noting, *first);
  Operation& b = engine.add(noting, *second);
  Operation& c = engine.add(noting, *third);
  MadeUpEngine::link(a, c);
  MadeUpEngine::link(a, b);
  engine.executor->make_ready(a);
  Turn turn;
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(turn.next, b.number);
  EXPECT_TRUE(engine.executor->has_ready()) << "c is for others";
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(ran, (std::vector<const std::byte*>{first->data, second->data, third->data}));
}

// Twelve operations that are ready, of which the last `count` are awaited, in the order in which they run.
struct SomeAwaited {
  explicit SomeAwaited(std::uint64_t count, detail::Weight weight) {
    engine.ring.awaited().begin();
    for (std::uint64_t i = 0; i < 12; ++i) {
      Operation& operation = engine.add(noting, *engine.make_storage(64));
      operation.weight = weight;
      if (i + count >= 12) engine.ring.awaited().mark(engine.ring.slot(operation.number));
      engine.executor->make_ready(operation);
    }
    Turn turn;
    while (engine.executor->run_one(turn)) order.push_back(last_finished());
  }
  // The number of the operation that has finished since the last call.
  std::uint64_t last_finished() {
    for (std::uint64_t number = 1; number <= 12; ++number) {
      if (engine.ring.is_finished(number) && std::ranges::find(order, number) == order.end()) return number;
    }
    return 0;
  }
  MadeUpEngine engine;
  std::vector<std::uint64_t> order{};
};

TEST_F(CpuExecutorTest, EverySecondOperationIsAnAwaitedOne) {
  EXPECT_EQ(SomeAwaited(3, detail::Weight::large).order,
            (std::vector<std::uint64_t>{10, 1, 11, 2, 12, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(CpuExecutorTest, EightTinyAwaitedOperationsCountAsOne) {
  EXPECT_EQ(SomeAwaited(9, detail::Weight::tiny).order,
            (std::vector<std::uint64_t>{4, 5, 6, 7, 8, 9, 10, 11, 1, 12, 2, 3}));
}

// The thread's own next operation is not lost when an awaited one comes first.
TEST_F(CpuExecutorTest, AnAwaitedOperationPassesTheNextOneToOthers) {
  MadeUpEngine engine;
  Storage *first = engine.make_storage(64), *second = engine.make_storage(64), *third = engine.make_storage(64);
  Operation& a = engine.add(noting, *first);
  Operation& b = engine.add(noting, *second);
  Operation& awaited = engine.add(noting, *third);
  MadeUpEngine::link(a, b);
  engine.executor->make_ready(a);
  Turn turn;
  EXPECT_TRUE(run_one(engine, turn));
  ASSERT_EQ(turn.next, b.number);
  engine.executor->make_ready(awaited);
  engine.ring.awaited().begin();
  engine.ring.awaited().mark(engine.ring.slot(awaited.number));
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(turn.next, 0U);
  EXPECT_TRUE(engine.executor->has_ready());
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(ran, (std::vector<const std::byte*>{first->data, third->data, second->data}));
}

TEST_F(CpuExecutorTest, AThreadThatLeavesGivesItsNextOperationToOthers) {
  MadeUpEngine engine;
  Operation& a = engine.add(noting, *engine.make_storage(64));
  Operation& b = engine.add(noting, *engine.make_storage(64));
  MadeUpEngine::link(a, b);
  engine.executor->make_ready(a);
  Turn turn;
  run_one(engine, turn);
  ASSERT_EQ(turn.next, b.number);
  EXPECT_FALSE(engine.executor->has_ready());
  engine.executor->put_back(turn);
  EXPECT_EQ(turn.next, 0U);
  EXPECT_TRUE(engine.executor->has_ready());
}

TEST_F(CpuExecutorTest, TilesEndTheOperationTogether) {
  MadeUpEngine engine;
  Storage* storage = engine.make_storage(64);
  Operation& operation = engine.add(in_three_tiles, *storage);
  operation.tiles = operation.kernel_tiles = 3;
  operation.weight = detail::Weight::large;
  engine.executor->make_ready(operation);
  Turn turn;
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(engine.ring.oldest().load(), 1U);
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_EQ(engine.ring.oldest().load(), 2U);
  EXPECT_FALSE(run_one(engine, turn));
  EXPECT_THAT(ran, testing::UnorderedElementsAre(storage->data, storage->data + 1, storage->data + 2));
}

// Such a thread leaves what may take long to others, and begins nothing that came late.
TEST_F(CpuExecutorTest, AThreadThatWaitsComputesTiles) {
  for (const bool by_arrival : {false, true}) {
    for (const detail::Help help : {detail::Help::none, detail::Help::tiles}) {
      ran.clear();
      MadeUpEngine engine(by_arrival);
      Operation& operation = engine.add(in_three_tiles, *engine.make_storage(64));
      operation.tiles = operation.kernel_tiles = 3;
      operation.help = help;
      engine.executor->make_ready(operation);
      Turn turn, limited{.limit = 0};
      EXPECT_FALSE(engine.executor->run_one_tile(limited));
      const bool begins = !by_arrival && help == detail::Help::tiles;
      EXPECT_EQ(engine.executor->run_one_tile(turn), begins);
      EXPECT_TRUE(begins || run_one(engine, turn));
      EXPECT_EQ(engine.executor->run_one_tile(turn), help == detail::Help::tiles);
      EXPECT_FALSE(engine.executor->run_one_tile(limited));
      while (run_one(engine, turn)) {
      }
      EXPECT_EQ(ran.size(), 3U);
      EXPECT_FALSE(engine.executor->run_one_tile(turn));
    }
  }
}

// There is memory for one result only, which the oldest operation is to have. The younger one is put back, and admitted
// once it is the oldest.
TEST_F(CpuExecutorTest, WhatIsRefusedIsReadyAgain) {
  constexpr std::int64_t large = std::int64_t{1} << 20;
  MadeUpEngine engine(false, MemoryBudget::bytes(large));
  Storage *first = engine.make_storage(large), *second = engine.make_storage(large);
  engine.device.serial_live.add(-large);  // the first is gone when the second is made: the serial peak is one of them
  Operation& older = engine.add(noting, *first);
  Operation& younger = engine.add(noting, *second);
  engine.executor->make_ready(younger);
  Turn turn;
  EXPECT_FALSE(run_one(engine, turn));
  EXPECT_TRUE(engine.executor->has_ready());
  EXPECT_EQ(second->data, nullptr);
  engine.executor->make_ready(older);
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_NE(second->data, nullptr);
  engine.device.serial_live.add(large);
}

// A thread that ends an operation calls no other one while what was refused would be refused again.
TEST_F(CpuExecutorTest, WhatIsRefusedIsTriedAgainOnceItFits) {
  constexpr std::int64_t large = std::int64_t{1} << 20;
  MadeUpEngine engine(false, MemoryBudget::bytes(large));
  Storage *first = engine.make_storage(large), *second = engine.make_storage(large);
  engine.device.serial_live.add(-large);
  Operation& older = engine.add(noting, *first);
  engine.executor->make_ready(engine.add(noting, *second));
  EXPECT_FALSE(engine.executor->retry_refused()) << "nothing is refused yet";
  Turn turn;
  EXPECT_FALSE(run_one(engine, turn));
  EXPECT_TRUE(engine.executor->retry_refused()) << "it still does not fit";
  engine.executor->make_ready(older);
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_FALSE(engine.executor->retry_refused()) << "the end of the older one has made it the oldest";
  EXPECT_TRUE(run_one(engine, turn));
  engine.device.serial_live.add(large);
}

TEST_F(CpuExecutorTest, AnExceptionPoisonsTheResult) {
  MadeUpEngine engine;
  Storage* storage = engine.make_storage(64);
  engine.executor->make_ready(engine.add(failing, *storage));
  Turn turn;
  EXPECT_TRUE(run_one(engine, turn));
  EXPECT_TRUE(storage->is_poisoned());
  EXPECT_FALSE(storage->has_value);
  EXPECT_THROW(engine.failures.deliver_oldest(), Error);
  engine.failures.recover();
}

}  // namespace
}  // namespace asyncgrad::tests
