// Waits, marks, and the question whether a tensor is ready: what they see, and what comes first for them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/engine_test.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

TEST_F(EngineTest, AWaitForAnIntermediateLeavesYoungerWorkUnfinished) {
  const Tensor x = full({100}, 3) * 2;
  Gate gate;
  const Tensor younger = x + 1;
  gate.wait_until_held();
  EXPECT_EQ(x.to_vector<float>(), Floats(100, 6));
  EXPECT_EQ(engine_figures().queued, 1);
  gate.open();
  EXPECT_EQ(younger.to_vector<float>(), Floats(100, 7));
}

TEST_F(EngineTest, AMarkWaitsForTheUpdateThatTheLossMisses) {
  Tensor parameter = ones({100});
  const Tensor loss = sum(parameter);
  loss.wait();
  Gate gate;
  parameter -= 1;
  const Mark after_update = mark();
  gate.wait_until_held();
  loss.wait();
  EXPECT_EQ(engine_figures().queued, 1);

  bool was_open = false;
  std::thread waiting([&] {
    after_update.wait();
    was_open = gate.is_open();
  });
  gate.open();
  waiting.join();
  EXPECT_TRUE(was_open);
  EXPECT_EQ(engine_figures().queued, 0);
  EXPECT_EQ(parameter.to_vector<float>(), Floats(100, 0));
}

TEST_F(EngineTest, AMarkLeavesWhatCameAfterIt) {
  const Tensor before = ones({10});
  const Mark middle = mark();
  Gate gate;
  const Tensor after = ones({10});
  gate.wait_until_held();
  middle.wait();
  EXPECT_EQ(engine_figures().queued, 1);
  EXPECT_EQ(before.to_vector<float>(), Floats(10, 1));
  Mark().wait();  // the beginning
}

TEST_F(EngineTest, ATensorIsReadyOnceItsLastWriterHasFinished) {
  Tensor x = ones({10});
  x.wait();
  EXPECT_TRUE(x.is_ready());
  Gate gate;
  x += 1;
  const Tensor rows = x.slice(2, 4), other = full({10}, 5) * 2;
  gate.wait_until_held();
  other.wait();
  EXPECT_TRUE(other.is_ready());
  EXPECT_FALSE(x.is_ready());
  EXPECT_FALSE(rows.is_ready());  // it shares the value
  gate.open();
  while (!x.is_ready()) std::this_thread::yield();
  EXPECT_TRUE(rows.is_ready());
  EXPECT_EQ(static_cast<const float*>(host_data(x))[9], 2);
  EXPECT_TRUE(Tensor::from<float>({1}, {1}).is_ready());
}

// Nothing but the question itself gets the operation to a worker, all of which sleep.
TEST_F(EngineTest, AskingWhetherATensorIsReadyHasItComputed) {
  for (const int workers : {1, 2}) {
    set_engine_options({.workers = workers, .inline_tiny = false});
    const Tensor x = ones({2});
    x.wait();
    for (int round = 0; round < 5; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const Tensor y = (x + round) * 2;
      while (!y.is_ready()) std::this_thread::yield();
      EXPECT_EQ(engine_figures().queued, 0);
      EXPECT_EQ(y.to_vector<float>(), Floats(2, 2 * (1 + static_cast<float>(round))));
    }
  }
}

TEST_F(EngineTest, AFailedTensorIsReadyAndSoIsWhatNobodyComputes) {
  set_engine_options({.workers = 1, .inline_tiny = false});
  const Tensor x = take(ones({3}), Tensor::from<std::int64_t>({5}, {1}));
  const Tensor y = x + 1;
  while (!y.is_ready()) std::this_thread::yield();
  EXPECT_TRUE(x.is_ready());
  EXPECT_THROW(y.wait(), Error);
  EXPECT_TRUE(y.is_ready());
  recover();
  set_engine_options({.schedule = Schedule::dry_run});
  EXPECT_TRUE((ones({3}) + 1).is_ready());
}

// Kernels ask, too, at their call as well as on a worker, and so does a thread while another one queues.
TEST_F(EngineTest, AnyThreadMayAskWhetherATensorIsReady) {
  const Tensor x = ones({2});
  x.wait();
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.workers = 2, .inline_tiny = inline_tiny});
    const Tensor y = custom("asks", {.shape = {2}}, {x}, [x](const CustomCall& call) {
      std::ranges::fill(call.output<float>(), x.is_ready() ? 1.0F : 0.0F);
    });
    EXPECT_EQ(y.to_vector<float>(), Floats(2, 1));
    Tensor sum = zeros({2});
    for (int round = 0; round < 50; ++round) {
      const Tensor last = x + round;
      std::thread asking([last] {
        while (!last.is_ready()) std::this_thread::yield();
      });
      for (int i = 0; i < 20; ++i) sum += x;
      asking.join();
    }
    EXPECT_EQ(sum.to_vector<float>(), Floats(2, 1000));
  }
}

// Adds a note of itself to `order` when it runs; `inputs`: what it waits for.
Tensor noting(const std::string& name, const std::vector<Tensor>& inputs, std::vector<std::string>& order) {
  return custom(name, {.shape = {100'000}}, inputs, [&order, name](const CustomCall&) { order.push_back(name); });
}

TEST_F(EngineTest, AWaitForSomethingBriefNeedsNoSeat) {
  set_engine_options({.workers = 1, .inline_tiny = false});
  std::vector<std::string> order;
  Gate gate;
  const Tensor held = noting("held", {}, order);
  gate.wait_until_held();
  EXPECT_EQ((full({10}, 5) * 2).to_vector<float>(), Floats(10, 10));
  EXPECT_EQ(order, std::vector<std::string>());
}

// One worker is held, and the thread that waits may not compute a program's kernels. What it waits for comes before older operations,
// in turn with them.
TEST_F(EngineTest, WhatAThreadWaitsForComesBeforeOlderWork) {
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::unbounded()});
  std::vector<std::string> order;
  Gate gate;
  const Tensor held = noting("held", {}, order);
  gate.wait_until_held();
  std::vector<Tensor> older;
  for (const char* name : {"older 1", "older 2", "older 3"}) older.push_back(noting(name, {}, order));
  const std::uint64_t first = detail::Engine::get().next_number();
  const Tensor a = noting("a", {}, order), b = noting("b", {a}, order);
  const Tensor younger = noting("younger", {}, order);
  std::thread waiting([&] { b.wait(); });
  const detail::Ring& ring = detail::Engine::get().queue().context().ring;
  while (!ring.awaited().has(ring.slot(first))) std::this_thread::yield();
  gate.open();
  waiting.join();
  mark().wait();
  EXPECT_EQ(order, (std::vector<std::string>{"held", "a", "older 1", "b", "older 2", "older 3", "younger"}));
  EXPECT_FALSE(ring.awaited().any());
}

// A wait for most of what is queued is served by the plain order, and does not stand in the way of a short one.
TEST_F(EngineTest, ALongWaitIsNotPreferred) {
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::unbounded()});
  std::vector<std::string> order;
  Gate gate;
  Tensor x = noting("held", {}, order);
  gate.wait_until_held();
  for (int i = 0; i < 300; ++i) x = x * 0.5 + 1;
  std::atomic<bool> begins{false};
  std::thread waiting([&] {
    begins = true;
    x.wait();
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(detail::Engine::get().queue().context().ring.awaited().any());
  gate.open();
  waiting.join();
}

}  // namespace
}  // namespace asyncgrad::tests
