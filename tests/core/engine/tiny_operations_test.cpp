// Tiny operations, which run at the call, are held until they are offered, or are taken many at once.
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/engine_test.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

TEST_F(EngineTest, TinyOperationsRunAtTheCallIfTheyMay) {
  set_engine_options({.workers = 2, .inline_tiny = true});
  const std::int64_t inlined = engine_figures().inlined;
  Tensor x = ones({2});
  x += 1;
  EXPECT_EQ(engine_figures().inlined, inlined + 2);
  EXPECT_EQ(engine_figures().queued, 0);
  EXPECT_EQ(x.to_vector<float>(), Floats(2, 2));
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

}  // namespace
}  // namespace asyncgrad::tests
