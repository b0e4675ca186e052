// The memory that operations take ahead of their order.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/admission/admission.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t elements = 16'000, bytes = elements * 4;
constexpr int steps = 30;

class BudgetTest : public testing::Test {
 protected:
  ~BudgetTest() override { set_engine_options({}); }
};

// Each step of the chain adds a tensor that depends on nothing. Without a budget a worker computes all of these while
// the chain is held up.
Tensor queue_chain_with_side_branches() {
  Tensor chain = zeros({elements});
  for (int step = 0; step < steps; ++step) chain += full({elements}, step);
  return chain;
}
constexpr float chain_result = steps * (steps - 1) / 2;

TEST_F(BudgetTest, WithoutOneSideBranchesPileUp) {
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::unbounded(), .inline_tiny = false});
  const std::int64_t before = memory_figures().live_bytes;
  reset_peaks();
  Gate gate;
  const Tensor result = queue_chain_with_side_branches();
  gate.wait_until_begun(1 + steps);
  EXPECT_EQ(memory_figures().budget_bytes, -1);
  gate.open();
  EXPECT_EQ(result.to_vector<float>(), std::vector<float>(elements, chain_result));
  EXPECT_GE(memory_figures().peak_live_bytes - before, (steps - 1) * bytes);
}

class Bounded : public BudgetTest, public testing::WithParamInterface<std::int64_t> {};
TEST_P(Bounded, KeepsLiveMemoryWithinIt) {
  const MemoryBudget budget = GetParam() < 0 ? MemoryBudget::automatic() : MemoryBudget::bytes(GetParam());
  set_engine_options({.workers = 2, .memory_budget = budget, .inline_tiny = false});
  reset_peaks();
  Gate gate;
  const Tensor result = queue_chain_with_side_branches();
  gate.wait_until_held();
  gate.open();
  EXPECT_EQ(result.to_vector<float>(), std::vector<float>(elements, chain_result));
  const MemoryFigures figures = memory_figures();
  EXPECT_LE(figures.peak_live_bytes, figures.budget_bytes);
  EXPECT_GE(figures.budget_bytes, figures.serial_peak_bytes);
  EXPECT_GE(figures.peak_live_bytes, 2 * bytes);
}
INSTANTIATE_TEST_SUITE_P(Budgets, Bounded, testing::Values(-1, 0, 4 * bytes, 8 * bytes));

// Small results that are ready far ahead take what memory there is before their order, but for the reserve.
TEST_F(BudgetTest, AWaitFindsMemoryBesideManySmallResults) {
  constexpr std::int64_t small = 64, spare = detail::Admission::min_spare_bytes;
  set_engine_options({.workers = 2, .queue_capacity = 1 << 15, .inline_tiny = false});
  Gate gate;
  Tensor chain = zeros({small / 4}) * sum(zeros({elements}));
  for (int step = 0; step < 2 * spare / small; ++step) chain += full({small / 4}, step);
  gate.wait_until_begun(spare / 2 / small);
  for (std::int64_t live = 0; std::exchange(live, memory_figures().live_bytes) != live;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until nothing more is admitted
  }
  EXPECT_EQ(full({small / 4}, 7.0F).to_vector<float>(), std::vector<float>(small / 4, 7.0F));
  EXPECT_FALSE(gate.is_open());
}

// Several threads make very many tiny tensors, computed at the call or on workers. Every byte must be counted at once,
// because memory that is counted late would be taken for room.
TEST_F(BudgetTest, HoldsForTinyTensorsOfSeveralThreads) {
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.workers = 3, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = inline_tiny});
    const Tensor start = ones({4});
    start.wait();
    mark().wait();
    reset_peaks();
    std::vector<std::thread> threads;
    std::atomic<int> begun{0};
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&start, &begun, thread] {
        ++begun;
        while (begun.load() < 4) std::this_thread::yield();
        std::vector<Tensor> kept;
        for (int i = 0; i < 20'000; ++i) {
          kept.push_back(kept.empty() ? start + 1 : kept.back() * 0.5);
          if (kept.size() <= static_cast<std::size_t>(5 + 10 * thread)) continue;
          if (i % 4 == 3) kept.back().wait();  // all of it is live then
          kept.clear();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    mark().wait();
    const MemoryFigures figures = memory_figures();
    EXPECT_GE(figures.peak_live_bytes, 64 * 36);  // what one thread alone keeps
    EXPECT_EQ(figures.budget_bytes, figures.serial_peak_bytes);
    EXPECT_LE(figures.peak_live_bytes, figures.serial_peak_bytes) << inline_tiny;
  }
}

// One thread drops its tensors before the next one makes as many, so that dropped memory must be counted at once.
TEST_F(BudgetTest, HoldsForTinyTensorsThatThreadsMakeInTurn) {
  constexpr int threads = 3, rounds = 20;
  constexpr std::size_t count = 60;
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = inline_tiny});
    mark().wait();
    reset_peaks();
    std::atomic<int> turn{0};
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&turn, thread] {
        for (int mine = thread; mine < threads * rounds; mine += threads) {
          while (turn.load() != mine) std::this_thread::yield();
          std::vector<Tensor> kept;
          while (kept.size() < count) kept.push_back(full({4}, 2));
          mark().wait();
          EXPECT_GE(memory_figures().live_bytes, static_cast<std::int64_t>(64 * count));
          kept.clear();
          turn.store(mine + 1);
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    const MemoryFigures figures = memory_figures();
    EXPECT_LE(figures.peak_live_bytes, figures.serial_peak_bytes) << inline_tiny;
  }
}

// The memory that `from` asks for does not fit beside a storage that only an unfinished operation still uses.
TEST_F(BudgetTest, FromWaitsForUnfinishedWorkAndGoesOn) {
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = false});
  Tensor x = full({elements}, 2);
  x.wait();
  Gate gate;
  const Tensor y = x * 3;
  gate.wait_until_held();
  x = Tensor{};
  const std::vector<float> values(elements, 1.0F);
  bool was_open = false;
  std::thread handing_over([&] {
    const Tensor z = Tensor::from(values, {elements});
    was_open = gate.is_open();
  });
  gate.open();
  handing_over.join();
  EXPECT_TRUE(was_open);
  // A tensor larger than the budget is made when nothing is unfinished.
  mark().wait();
  EXPECT_EQ(Tensor::from(values, {elements}).to_vector<float>(), values);
}

// `from` may be called just when the queued work finishes. A wait for more than is queued would hang the test.
TEST_F(BudgetTest, FromNeverWaitsPastTheQueue) {
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = false});
  const std::vector<float> values(elements, 1.0F);
  for (int round = 0; round < 3000; ++round) {
    Tensor x = Tensor::from(values, {elements});
    const Tensor y = x + 1;
    x = Tensor{};
    const Tensor z = Tensor::from(values, {elements});
  }
  mark().wait();
}

TEST_F(BudgetTest, FromGoesPastItAndTheExcessIsShown) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  const std::int64_t budget = memory_figures().live_bytes + 4 * bytes;
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(budget), .inline_tiny = false});
  reset_peaks();
  { const Tensor fits = Tensor::from(std::vector<float>(4 * elements), {4 * elements}); }
  EXPECT_EQ(memory_figures().excess_bytes, 0);
  { const Tensor large = Tensor::from(std::vector<float>(10 * elements), {10 * elements}); }
  EXPECT_EQ(memory_figures().excess_bytes, 6 * bytes);
  reset_peaks();
  EXPECT_EQ(memory_figures().excess_bytes, 0);
  set_engine_options({});
  EXPECT_EQ(memory_figures().excess_bytes, 0);
}

TEST_F(BudgetTest, TheFiguresShowIt) {
  set_engine_options({.memory_budget = MemoryBudget::bytes(std::int64_t{1} << 40)});
  EXPECT_EQ(memory_figures().budget_bytes, std::int64_t{1} << 40);
  set_engine_options({.schedule = Schedule::first_ready});
  EXPECT_EQ(memory_figures().budget_bytes, -1);
}

}  // namespace
}  // namespace asyncgrad::tests
