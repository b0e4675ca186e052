// A training step of the chapter's MLP against the five products in it by bare oneDNN, in turn, in one program.
//
// A step is a tenth of ten steps without barriers and the wait at the end. The products are oneDNN's matmul primitives
// on plain float32 layouts, run by its own OpenMP team on all cores while our workers sleep; in bf16 mode they use
// bf16, too.
#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cpu/products/bf16_product.h"
#include "chapter_products.h"
#include "chapter_step.h"
#include "counters.h"
#include "figures.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr int steps = 10;

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
  ChapterTraining training;
  const auto step = [&] { training.step(); };
  TeamProducts products(mode == MathMode::bf16 ? dnnl::fpmath_mode::bf16 : dnnl::fpmath_mode::strict);
  step_seconds(steps, step);
  products_seconds(products);
  Pairs pairs;
  for (auto _ : state) {
    const double step_s = step_seconds(steps, step);
    pairs.add(step_s, products_seconds(products));
  }
  report(state, pairs, "step", "products");
  state.counters["gflops"] = chapter_products_flop * 1e-6 / pairs.numerator_ms();
  set_math_mode(MathMode::float32);
}
BENCHMARK_CAPTURE(BM_step_over_products, float32, MathMode::float32)->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_step_over_products, bf16, MathMode::bf16)->Iterations(15)->Unit(benchmark::kMillisecond);

// The step by one worker and by two, in turn: ratio_median is how many times faster two are.
void BM_step_workers(benchmark::State& state) {
  ChapterTraining training;
  const auto step = [&] { training.step(); };
  const auto seconds_with = [&](int workers) {
    set_engine_options({.workers = workers});
    step_seconds(steps, step);
    return step_seconds(steps, step);
  };
  Pairs pairs;
  for (auto _ : state) {
    const double one_s = seconds_with(1);
    pairs.add(one_s, seconds_with(2));
  }
  set_engine_options({});
  report(state, pairs, "one", "two");
}
BENCHMARK(BM_step_workers)->Iterations(7)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
