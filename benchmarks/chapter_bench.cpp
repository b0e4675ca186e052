// A training step of the chapter's MLP against the five products in it by bare oneDNN, in turn, in one program.
//
// A step is a tenth of ten steps without barriers and the wait at the end. The products are oneDNN's matmul primitives
// on plain float32 layouts, run by its own OpenMP team on all cores while our workers sleep; in bf16 mode it is told to
// use bf16, too.
#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cpu/bf16_product.h"
#include "chapter_products.h"
#include "figures.h"

namespace asyncgrad::benchmarks {
namespace {

class Training {
 public:
  void step() {
    const Tensor x = randn({1024, 512}), y = ones({1024, 1});
    const Tensor loss = mean(nn::l2_loss(net_(x), y));
    sgd_.zero_grad();
    loss.backward();
    sgd_.step();
  }

 private:
  nn::Sequential net_{nn::Dense(512, 2048, relu), nn::Dense(2048, 512, relu), nn::Dense(512, 1)};
  optim::SGD sgd_{nn::parameters(net_), {.lr = 0.01}};
};

double step_seconds(Training& training) {
  constexpr int steps = 10;
  const double started = seconds();
  for (int i = 0; i < steps; ++i) training.step();
  wait_all();
  return (seconds() - started) / steps;
}

double products_seconds(TeamProducts& products) {
  // Idle workers of ours spin for a while before they sleep, and a spinning thread halves the team's speed.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  products.run();
  const double started = seconds();
  products.run();
  return seconds() - started;
}

void BM_step_over_products(benchmark::State& state, MathMode mode) {
  if (mode == MathMode::bf16 && !detail::has_bf16_tiles()) {
    state.SkipWithError("this processor has no AMX for bf16");
    return;
  }
  set_math_mode(mode);
  Training training;
  TeamProducts products(mode == MathMode::bf16 ? dnnl::fpmath_mode::bf16 : dnnl::fpmath_mode::strict);
  step_seconds(training);
  products_seconds(products);
  Pairs pairs;
  for (auto _ : state) {
    const double step_s = step_seconds(training);
    pairs.add(step_s, products_seconds(products));
  }
  state.counters["ratio_median"] = pairs.ratio_median();
  state.counters["ratio_min"] = pairs.ratio_min();
  state.counters["ratio_max"] = pairs.ratio_max();
  state.counters["pairs"] = pairs.count();
  state.counters["step_ms"] = pairs.numerator_ms();
  state.counters["products_ms"] = pairs.denominator_ms();
  state.counters["gflops"] = chapter_products_flop * 1e-6 / pairs.numerator_ms();
  set_math_mode(MathMode::float32);
}
BENCHMARK_CAPTURE(BM_step_over_products, float32, MathMode::float32)->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_step_over_products, bf16, MathMode::bf16)->Iterations(15)->Unit(benchmark::kMillisecond);

// The step by one worker and by two, in turn: ratio_median is how many times faster two are.
void BM_step_workers(benchmark::State& state) {
  Training training;
  const auto seconds_with = [&training](int workers) {
    set_engine_options({.workers = workers});
    step_seconds(training);
    return step_seconds(training);
  };
  Pairs pairs;
  for (auto _ : state) {
    const double one_s = seconds_with(1);
    pairs.add(one_s, seconds_with(2));
  }
  set_engine_options({});
  state.counters["ratio_median"] = pairs.ratio_median();
  state.counters["ratio_min"] = pairs.ratio_min();
  state.counters["ratio_max"] = pairs.ratio_max();
  state.counters["one_ms"] = pairs.numerator_ms();
  state.counters["two_ms"] = pairs.denominator_ms();
}
BENCHMARK(BM_step_workers)->Iterations(7)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
