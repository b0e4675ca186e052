// The order in which operations run, what the queue holds, and what becomes of tensors in use.
#include "asyncgrad/core/engine/engine.h"

#include <cstddef>
#include <vector>

#include "tests/core/engine/engine_test.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

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

}  // namespace
}  // namespace asyncgrad::tests
