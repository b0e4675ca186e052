// The order in which operations run, and which of them wait for others.
#include "asyncgrad/core/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

using Floats = std::vector<float>;

class EngineTest : public testing::Test {
 protected:
  // There is no budget, as it would hold back operations that the tests want to see run ahead of their order.
  EngineTest() { set_engine_options({.workers = 2, .memory_budget = MemoryBudget::unbounded(), .inline_tiny = false}); }
  ~EngineTest() override {
    recover();
    set_engine_options({});
  }
};

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

TEST_F(EngineTest, OperationsThatDependOnNothingOvertake) {
  Tensor x = ones({10});
  x.wait();
  Gate gate;
  x += 1;
  gate.wait_until_held();
  const Tensor other = full({10}, 5) * 2;
  EXPECT_EQ(other.to_vector<float>(), Floats(10, 10));
  EXPECT_FALSE(gate.is_open());
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

TEST_F(EngineTest, AWriteWaitsForTheReadersBeforeIt) {
  Tensor x = ones({10});
  x.wait();
  Gate gate(2);
  const Tensor first = x * 2;
  gate.wait_until_held();
  x.fill_(7);
  const Tensor second = x * 2;
  gate.open();
  EXPECT_EQ(first.to_vector<float>(), Floats(10, 2));
  EXPECT_EQ(second.to_vector<float>(), Floats(10, 14));
}

TEST_F(EngineTest, TensorsInUseMayBeDropped) {
  constexpr std::int64_t bytes = 4000 * 4;
  const std::int64_t before = memory_figures().live_bytes;
  {
    Tensor x = full({4000}, 2);
    x.wait();
    Gate gate;
    Tensor y = x * 3;
    gate.wait_until_held();
    x = Tensor{};
    EXPECT_EQ(memory_figures().waiting_bytes, bytes);
    Tensor z = y + 1;
    y = Tensor{};
    gate.open();
    EXPECT_EQ(z.to_vector<float>(), Floats(4000, 7));
    mark().wait();
    EXPECT_EQ(memory_figures().waiting_bytes, 0);
    EXPECT_EQ(memory_figures().live_bytes - before, bytes);
  }
  static_cast<void>(exp(full({4000}, 1)));  // nobody keeps it at all
  mark().wait();
  EXPECT_EQ(memory_figures().live_bytes, before);
  EXPECT_EQ(memory_figures().serial_live_bytes, before);
}

// The exception drops handles that queued operations still use. These operations are computed all the same.
TEST_F(EngineTest, AnExceptionInTheProgramDisturbsNothing) {
  const std::int64_t before = memory_figures().live_bytes;
  {
    Tensor x = ones({4000});
    x.wait();
    Gate gate;
    try {
      const Tensor held = x * 3;
      gate.wait_until_held();
      const Tensor y = exp(held) * 0;
      x += y + held;
      static_cast<void>(held.reshape({7}));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error&) {
      EXPECT_EQ(engine_figures().queued, 5);
    }
    gate.open();
    EXPECT_EQ(x.to_vector<float>(), Floats(4000, 4));
  }
  mark().wait();
  EXPECT_EQ(memory_figures().live_bytes, before);
}

TEST_F(EngineTest, TheQueueIsBounded) {
  set_engine_options({.workers = 2, .queue_capacity = 8, .inline_tiny = false});
  reset_peaks();
  Tensor x = zeros({5000});
  for (int i = 0; i < 300; ++i) x += 1;
  EXPECT_EQ(x.to_vector<float>(), Floats(5000, 300));
  EXPECT_LE(engine_figures().peak_queued, 8);
  EXPECT_GE(engine_figures().peak_queued, 1);
}

TEST_F(EngineTest, AQueueOfOneHoldsOne) {
  set_engine_options({.workers = 2, .queue_capacity = 1, .inline_tiny = false});
  reset_peaks();
  Tensor x = zeros({100});
  for (int i = 0; i < 100; ++i) x += 1;
  EXPECT_EQ(x.to_vector<float>(), Floats(100, 100));
  EXPECT_EQ(engine_figures().peak_queued, 1);
}

TEST_F(EngineTest, AnOperationMayHaveManyReadersAndOperands) {
  Tensor x = ones({64});
  std::vector<Tensor> readers;
  for (int i = 0; i < 500; ++i) readers.push_back(x + i);
  x.fill_(0);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(readers[static_cast<std::size_t>(i)].to_vector<float>()[63], 1.0F + i);
  EXPECT_EQ(x.to_vector<float>(), Floats(64, 0));
}

TEST_F(EngineTest, TinyOperationsRunAtTheCallIfTheyMay) {
  set_engine_options({.workers = 2, .inline_tiny = true});
  const std::int64_t inlined = engine_figures().inlined;
  Tensor x = ones({2});
  x += 1;
  EXPECT_EQ(engine_figures().inlined, inlined + 2);
  EXPECT_EQ(engine_figures().queued, 0);
  EXPECT_EQ(x.to_vector<float>(), Floats(2, 2));
}

TEST_F(EngineTest, FiguresCountWhatCameSinceEarlierOnes) {
  const Tensor x = ones({2});
  const EngineFigures earlier = engine_figures();
  for (int i = 0; i < 3; ++i) (x + 1).wait();
  const EngineFigures all = engine_figures(), since = all.since(earlier);
  EXPECT_EQ(since.operations, 3);
  EXPECT_EQ(since.frontend_wait_s, all.frontend_wait_s - earlier.frontend_wait_s);
  EXPECT_EQ(since.peak_queued, all.peak_queued);
  EXPECT_EQ(since.record_bytes, all.record_bytes);
}

// Runs the program of one thread, with tensors and random numbers of its own and with `shared`.
Floats result_of_thread(std::uint64_t seed, const Tensor& shared) {
  Generator generator(seed);
  Tensor x = randn({200}, {.generator = &generator});
  for (int i = 0; i < 60; ++i) {
    Tensor noise = uniform({200}, -1, 1, {.generator = &generator});
    x = tanh(x * 0.5 + noise * shared);
    if (i % 7 == 0) x += shared;
    if (i % 20 == 0) x.wait();
  }
  return x.to_vector<float>();
}

void queue_from_many_threads(const EngineOptions& options) {
  constexpr std::size_t count = 4;
  set_engine_options(options);
  const Tensor shared = arange(0, 200) * 0.01;
  std::vector<Floats> expected, results(count);
  for (std::size_t seed = 0; seed < count; ++seed) expected.push_back(result_of_thread(seed, shared));
  std::vector<std::thread> threads;
  for (std::size_t seed = 0; seed < count; ++seed) {
    threads.emplace_back([&, seed] { results[seed] = result_of_thread(seed, Tensor(shared)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, expected);
  mark().wait();
}

// Nothing waits for the operations. A few tiny ones may then stay queued, but not many, and none that were queued
// before a long one.
TEST_F(EngineTest, TinyOperationsAreBegunBeforeAnybodyWaits) {
  const auto until_queued_at_most = [](std::int64_t count) {
    while (engine_figures().queued > count) std::this_thread::yield();
  };
  const Tensor x = ones({2});
  wait_all();
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> tiny;
    for (int i = 0; i < 300; ++i) tiny.push_back(x + i);
    until_queued_at_most(64);
    tiny.push_back(x * 2);
    const Tensor lengthy = ones({100'000});
    until_queued_at_most(0);
    for (int i = 0; i < 300; ++i)
      EXPECT_EQ(tiny[static_cast<std::size_t>(i)].to_vector<float>(), Floats(2, 1.0F + static_cast<float>(i)));
  }
}

// A worker does not leave them queued when it goes to sleep, because other operations may depend on them.
TEST_F(EngineTest, AWorkerTakesWhatIsHeldBeforeItSleeps) {
  for (const int workers : {1, 2}) {
    set_engine_options({.workers = workers, .inline_tiny = false});
    const Tensor x = ones({2});
    x.wait();
    for (int round = 0; round < 20; ++round) {
      Gate gate;
      const Tensor lengthy = ones({100'000});
      gate.wait_until_held();
      const Tensor tiny = x + round;
      gate.open();
      while (engine_figures().queued > 0) std::this_thread::yield();
      EXPECT_EQ(tiny.to_vector<float>(), Floats(2, 1.0F + static_cast<float>(round)));
    }
  }
}

// A held operation is linked to what it depends on only when it is offered. That may be finished by then, or not.
TEST_F(EngineTest, WhatIsHeldMayWaitForWhatEndsMeanwhile) {
  set_engine_options({.workers = 1, .inline_tiny = false});
  for (int round = 0; round < 40; ++round) {
    Tensor y;
    {
      Gate gate;
      const std::uint64_t number = detail::Engine::get().next_number();
      const Tensor lengthy = full({100'000}, round);
      gate.wait_until_held();
      y = lengthy.slice(0, 2) + 1;
      const Tensor z = lengthy.slice(2, 4) * 2;
      y = y * z;
      gate.open();
      while (round % 2 == 0 && !detail::Engine::get().reached({.number = number})) std::this_thread::yield();
      y += z;
    }
    const auto value = static_cast<float>(round);
    EXPECT_EQ(y.to_vector<float>(), Floats(2, (value + 1) * 2 * value + 2 * value));
  }
}

// When a held operation is offered, the entry of what it depends on may already belong to another operation, here to
// one that depends on the held one.
TEST_F(EngineTest, WhatIsHeldMayOutliveTheRecordOfWhatItWaitsFor) {
  set_engine_options({.workers = 1, .queue_capacity = 64, .inline_tiny = false});
  const Tensor x = ones({2});
  x.wait();
  for (int round = 0; round < 40; ++round) {
    std::vector<Tensor> tiny;
    Tensor z;
    {
      Gate gate;
      const std::uint64_t number = detail::Engine::get().next_number();
      const Tensor lengthy = full({100'000}, round);
      gate.wait_until_held();
      const Tensor y = lengthy.slice(0, 2) + 1;
      while (detail::Engine::get().next_number() < number + 64) tiny.push_back(x + 1);
      gate.open();
      while (!detail::Engine::get().reached({.number = number})) detail::pause_briefly();
      z = y * 2;
    }
    EXPECT_EQ(z.to_vector<float>(), Floats(2, 2 * (static_cast<float>(round) + 1)));
  }
}

// A thread takes many operations at once if each is expected to be short. If one takes long all the same, others get
// the rest.
TEST_F(EngineTest, WhatTakesLongKeepsNothingFromOthers) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  const Tensor x = ones({2});
  x.wait();
  for (int round = 0; round < 20; ++round) {
    // The operations lie in one word of the ready set, because a thread takes none beyond its end.
    while (detail::Engine::get().next_number() % 64 > 40) (x + 1).wait();
    std::vector<Tensor> tiny;
    Gate gate;
    for (int i = 0; i < 20; ++i) tiny.push_back(x + i);
    gate.wait_until_begun(20);
    gate.open();
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(tiny[static_cast<std::size_t>(i)].to_vector<float>(), Floats(2, 1.0F + static_cast<float>(i)));
  }
}

TEST_F(EngineTest, SeveralThreadsMayQueueAtOnce) {
  queue_from_many_threads({.workers = 2, .inline_tiny = false});
  queue_from_many_threads({.workers = 2, .inline_tiny = true});
  queue_from_many_threads({.workers = 3, .queue_capacity = 7, .inline_tiny = false});
  queue_from_many_threads({.workers = 1, .memory_budget = MemoryBudget::bytes(0)});
  queue_from_many_threads({.workers = 2, .schedule = Schedule::first_ready, .inline_tiny = false});
  queue_from_many_threads({.schedule = Schedule::immediate});
}

TEST_F(EngineTest, SeveralThreadsMayWaitForOneTensor) {
  for (int round = 0; round < 200; ++round) {
    const Tensor x = full({3000}, round);
    const Tensor y = x * 2;
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&right, round, y] { right += y.to_vector<float>()[2999] == 2.0F * round ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(right.load(), 3);
  }
}

// A thread that computes is stopped while the ring comes round, so that its slots belong to other operations
// afterwards.
TEST_F(EngineTest, LosesNothingWhenTheRingComesRound) {
  for (const int workers : {2, 4}) {
    set_engine_options({.workers = workers, .queue_capacity = 64, .inline_tiny = false});
    const Tensor x = ones({2});
    Tensor y;
    for (int i = 0; i < 300'000; ++i) y = x + 1;
    EXPECT_EQ(y.to_vector<float>(), Floats(2, 2));
  }
}

// A wait may be for an operation that another thread is queueing at this moment, without a wake-up for it.
TEST_F(EngineTest, AWaitForAllMayMeetAnotherThreadThatQueues) {
  for (const int workers : {1, 3}) {
    set_engine_options({.workers = workers, .inline_tiny = false});
    const Tensor x = ones({2});
    x.wait();
    for (int round = 0; round < 3000; ++round) {
      std::atomic<int> waiting{0};
      Tensor y;
      std::thread other([&] {
        while (waiting.load() == 0) {
        }
        y = x + 1;
      });
      waiting = 1;
      mark().wait();
      other.join();
      ASSERT_EQ(y.to_vector<float>(), Floats(2, 2));
    }
  }
}

// Several workers and waiting threads go to sleep and are woken many times. A lost wake-up would hang the test.
TEST_F(EngineTest, LosesNoWakeUp) {
  for (const int workers : {1, 2, 5}) {
    set_engine_options({.workers = workers, .queue_capacity = 3, .inline_tiny = false});
    const auto play = [] {
      Tensor x = zeros({2});
      for (int i = 0; i < 1500; ++i) {
        x += 1;
        if (i % 3 == 0) x.wait();
      }
      EXPECT_EQ(x.to_vector<float>(), Floats(2, 1500));
    };
    std::thread other(play);
    play();
    other.join();
  }
}

}  // namespace
}  // namespace asyncgrad::tests
