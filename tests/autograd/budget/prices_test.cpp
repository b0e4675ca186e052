// What a budget below the serial peak is said to cost, and what it costs.
#include "asyncgrad/core/memory_prices.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

using ::testing::HasSubstr;

TEST(RecomputeToFit, RefusesOptionsThatItCannotKeep) {
  const auto message = [](MemoryBudget budget, Schedule schedule = Schedule::oldest_first) {
    return message_of(
        [&] { set_engine_options({.schedule = schedule, .memory_budget = budget, .recompute_to_fit = true}); });
  };
  EXPECT_THAT(message(MemoryBudget::automatic()), HasSubstr("needs a memory_budget of bytes, got an automatic one"));
  EXPECT_THAT(message(MemoryBudget::unbounded()), HasSubstr("needs a memory_budget of bytes, got an unbounded one"));
  EXPECT_THAT(message(MemoryBudget::bytes(1000), Schedule::first_ready), HasSubstr("first_ready"));
  EXPECT_FALSE(engine_options().recompute_to_fit);
}

// A network whose serial peak is that of what it saves.
struct DeepNet {
  std::vector<Tensor> weights;
  Tensor x;

  DeepNet() : x(randn({512, 64})) {
    for (int i = 0; i < 12; ++i) weights.push_back(parameter(randn({64, 64}) * 0.2));
  }
  void step() const {
    Tensor h = x;
    for (const Tensor& weight : weights) h = tanh(matmul(h, weight));
    const Tensor loss = mean(square(h));
    h = Tensor();
    loss.backward();
    const NoGrad no_grad;
    for (Tensor weight : weights) {
      weight -= weight.grad() * 0.01;
      weight.zero_grad();
    }
  }
};

TEST(MemoryPrices, AreThoseOfARealRun) {
  manual_seed(7);
  const DeepNet net;
  const std::vector<double> before = values(net.weights[0]);
  const std::vector<MemoryPrice> prices = memory_prices([&] { net.step(); }, {1, 0.7, 0.5});
  EXPECT_EQ(values(net.weights[0]), before);
  EXPECT_FALSE(engine_options().recompute_to_fit);
  ASSERT_EQ(prices.size(), 3U);
  EXPECT_EQ(prices[0].budget_bytes, prices[0].serial_peak_bytes);
  EXPECT_LT(prices[1].added_work, prices[2].added_work);
  for (const MemoryPrice& price : prices) {
    EXPECT_LE(price.recompute_peak_bytes, price.budget_bytes);
    set_engine_options({.memory_budget = MemoryBudget::bytes(price.budget_bytes), .recompute_to_fit = true});
    reset_peaks();
    net.step();
    const std::int64_t first = engine_figures().recomputed_operations;
    net.step();
    wait_all();
    EXPECT_EQ(engine_figures().recomputed_operations - first, price.recomputed_operations);
    EXPECT_EQ(memory_figures().serial_peak_bytes, price.recompute_peak_bytes);
    EXPECT_LE(memory_figures().peak_live_bytes, price.budget_bytes);
    set_engine_options({});
  }
}

TEST(MemoryPrices, BelowTheFloorThePeakIsAboveTheBudget) {
  const DeepNet net;
  const MemoryPrice price = memory_prices([&] { net.step(); }, {0.01})[0];
  EXPECT_GT(price.recompute_peak_bytes, price.budget_bytes);
  EXPECT_LT(price.recompute_peak_bytes, price.serial_peak_bytes);
}

TEST(MemoryPrices, PutBackTheGeneratorAndTheOptionsWhateverTheStepDoes) {
  const EngineOptions before = engine_options();
  manual_seed(3);
  EXPECT_THAT(message_of([] { memory_prices([] { static_cast<void>(randn({3}).to_vector<float>()); }, {1}); }),
              HasSubstr("values do not exist under Schedule::dry_run"));
  EXPECT_EQ(engine_options().schedule, before.schedule);
  const std::vector<float> drawn = randn({3}).to_vector<float>();
  manual_seed(3);
  EXPECT_EQ(drawn, randn({3}).to_vector<float>());
  EXPECT_THAT(message_of([] { memory_prices([] {}, {1.5}); }), HasSubstr("above 0 and at most 1, got 1.5"));
}

// What is large and would have to be computed for a small value is not computed again for it.
TEST(MemoryPrices, NeverRaiseTheSerialPeak) {
  const Tensor w = parameter(randn({64, 256})), x = randn({1 << 12, 64});
  const auto step = [&] {
    Tensor z;
    {
      Tensor y;
      {
        const NoGrad no_grad;
        y = sum(exp(matmul(x, w)), {1});  // of 4 MiB, 16 KiB are left
      }
      const Tensor p = tile(sum(w) + y, {4});
      z = sum(exp(p));
    }
    const Tensor held = ones({10 << 18});
    z.backward();
    Tensor(w).zero_grad();
  };
  for (const MemoryPrice& price : memory_prices(step, {1, 0.98, 0.9, 0.5})) {
    EXPECT_LE(price.recompute_peak_bytes, price.serial_peak_bytes) << price.share;
  }
}

TEST(MemoryPrices, AreNotTakenWhileATapeNeedsWhatWasDropped) {
  set_engine_options({.memory_budget = MemoryBudget::bytes(1), .recompute_to_fit = true});
  const Tensor w = parameter(full({1 << 16}, 0.5));
  Tensor z = sum(exp(w));
  for (int i = 0; i < 3; ++i) ones({1 << 16});  // the value that exp has saved is dropped
  EXPECT_THAT(message_of([] { memory_prices([] {}, {0.5}); }), HasSubstr("a loss that was not given to backward()"));
  z.backward();
  EXPECT_EQ(memory_prices([&] { sum(exp(w)).backward(); }, {0.5}).size(), 1U);
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::tests
