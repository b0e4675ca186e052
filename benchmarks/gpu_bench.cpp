// The targets of the backend for GPUs, on cuda:0. Without a GPU every benchmark is skipped and says why.
//
// BM_step_over_products: a training step of the chapter's MLP over the five products in it by bare cuBLASLt on a stream
// of its own, in turn, in one program; operation by operation, and with its launches replayed by LaunchGraph.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "chapter_products.h"
#include "chapter_step.h"
#include "counters.h"
#include "figures.h"
#include "gpu_products.h"

namespace asyncgrad::benchmarks {
namespace {

// Makes the GPU the default device; false, and the benchmark is skipped, where there is none.
bool use_gpu(benchmark::State& state) {
  try {
    set_default_device("cuda:0");
    return true;
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return false;
  }
}

enum class Launches { one_by_one, replayed };

class Steps {
 public:
  explicit Steps(Launches launches) : launches_(launches) {
    for (int i = 0; i < 10; ++i) step();  // loads kernels, and makes the graph
    wait_all();
  }
  void step() {
    if (launches_ == Launches::one_by_one) {
      training_.step();
    } else {
      graph_([this] { training_.step(); });
    }
  }
  // How many calls of the graph were one launch.
  double replayed_share() const {
    return static_cast<double>(graph_.replays()) / static_cast<double>(std::max<std::int64_t>(1, graph_.calls()));
  }

 private:
  const Launches launches_;
  ChapterTraining training_;
  LaunchGraph graph_{"training step"};
};

void BM_step_over_products(benchmark::State& state, MathMode mode, Launches launches) {
  if (!use_gpu(state)) return;
  constexpr int times = 200;
  set_math_mode(mode);
  Steps steps(launches);
  GpuProducts products(mode);
  products.run(times);
  Pairs pairs;
  for (auto _ : state) {
    const double step_s = step_seconds(times, [&] { steps.step(); });
    const double started = seconds();
    products.run(times);
    pairs.add(step_s, (seconds() - started) / times);
  }
  report(state, pairs, "step", "products");
  state.counters["gflops"] = chapter_products_flop * 1e-6 / pairs.numerator_ms();
  state.counters["replayed_share"] = steps.replayed_share();
  set_math_mode(MathMode::float32);
}
void pairs_of_steps(benchmark::internal::Benchmark* bench) { bench->Iterations(25)->Unit(benchmark::kMillisecond); }
BENCHMARK_CAPTURE(BM_step_over_products, tf32, MathMode::tf32, Launches::one_by_one)->Apply(pairs_of_steps);
BENCHMARK_CAPTURE(BM_step_over_products, tf32_graph, MathMode::tf32, Launches::replayed)->Apply(pairs_of_steps);
BENCHMARK_CAPTURE(BM_step_over_products, float32, MathMode::float32, Launches::one_by_one)->Apply(pairs_of_steps);
BENCHMARK_CAPTURE(BM_step_over_products, float32_graph, MathMode::float32, Launches::replayed)->Apply(pairs_of_steps);

// The front end's time for a step; the device has nothing to do when it begins.
void BM_queue_step(benchmark::State& state, Launches launches) {
  if (!use_gpu(state)) return;
  constexpr int times = 100;
  Steps steps(launches);
  Medians medians;
  for (auto _ : state) {
    const double started = seconds();
    for (int i = 0; i < times; ++i) steps.step();
    const double queueing_s = (seconds() - started) / times;
    state.SetIterationTime(queueing_s);
    medians.add("median_us", queueing_s * 1e6);
    wait_all();
  }
  medians.report(state);
}
void queueing(benchmark::internal::Benchmark* bench) {
  bench->Iterations(25)->UseManualTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(BM_queue_step, one_by_one, Launches::one_by_one)->Apply(queueing);
BENCHMARK_CAPTURE(BM_queue_step, graph, Launches::replayed)->Apply(queueing);

// The book's ten products of random matrices: until all are queued, and until all are computed.
void BM_products(benchmark::State& state) {
  if (!use_gpu(state)) return;
  const Inference inference;
  Medians medians;
  const auto run = [&] {
    const double started = seconds();
    for (int i = 0; i < 10; ++i) {
      const Tensor a = randn({1000, 1000});
      matmul(a, a);
    }
    medians.add("queued_us", (seconds() - started) * 1e6);
    wait_all();
    medians.add("computed_us", (seconds() - started) * 1e6);
  };
  run();  // loads kernels
  medians.clear();
  for (auto _ : state) run();
  medians.report(state);
}
BENCHMARK(BM_products)->Iterations(100)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Fifty products, copies of fifty to the CPU, and both at once: `hidden_share` is how much of the shorter part's time
// the longer one hides.
void BM_copies_overlapped(benchmark::State& state) {
  if (!use_gpu(state)) return;
  const Inference inference;
  const Tensor x = uniform({2000, 2000});
  std::vector<Tensor> products;
  const auto compute = [&] {
    products.clear();
    for (int i = 0; i < 50; ++i) products.push_back(matmul(x, x));
  };
  const auto copy = [&] {
    for (const Tensor& y : products) y.to("cpu");
  };
  const auto both = [&] {
    compute();
    copy();
  };
  Medians medians;
  const auto measure = [&] {
    const double compute_s = step_seconds(1, compute), copy_s = step_seconds(1, copy), both_s = step_seconds(1, both);
    medians.add("compute_ms", compute_s * 1e3);
    medians.add("copy_ms", copy_s * 1e3);
    medians.add("both_ms", both_s * 1e3);
    medians.add("hidden_share", (compute_s + copy_s - both_s) / std::min(compute_s, copy_s));
  };
  measure();  // loads kernels, takes memory
  medians.clear();
  for (auto _ : state) measure();
  medians.report(state);
}
BENCHMARK(BM_copies_overlapped)->Iterations(15)->UseRealTime()->Unit(benchmark::kMillisecond);

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::int64_t driver_used_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(total - free);
}

enum class Barrier { loss, everything, none };

// 150 batches: what the driver gave for them, beside our own figures.
void BM_training_memory(benchmark::State& state, Barrier barrier) {
  if (!use_gpu(state)) return;
  { const Steps loads_kernels(Launches::one_by_one); }  // which take memory, too
  for (auto _ : state) {
    trim_cache();
    const std::int64_t used_before = driver_used_bytes();
    ChapterTraining training;
    training.step();
    wait_all();
    reset_peaks();
    for (int batch = 0; batch < 150; ++batch) {
      const Tensor loss = training.step();
      if (barrier == Barrier::loss) loss.wait();
      if (barrier == Barrier::everything) mark().wait();
    }
    wait_all();
    const MemoryFigures figures = memory_figures();
    state.counters["driver_mib"] = mib(driver_used_bytes() - used_before);
    state.counters["peak_live_mib"] = mib(figures.peak_live_bytes);
    state.counters["serial_peak_mib"] = mib(figures.serial_peak_bytes);
    state.counters["cached_mib"] = mib(figures.cached_bytes);
    state.counters["workspace_mib"] = mib(figures.workspace_bytes);
  }
}
BENCHMARK_CAPTURE(BM_training_memory, batch, Barrier::loss)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_training_memory, in_flight_1, Barrier::everything)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_training_memory, none, Barrier::none)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
