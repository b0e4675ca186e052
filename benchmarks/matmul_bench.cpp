// Which kernel serves which product best: what the rule in backends/cpu/product.cpp was read from.
//
// BM_small: one product of (m, n, k) on one thread, by our panels, by oneDNN's sgemm and by its matmul primitive;
// `layout` 0: plain, 1: x transposed, 2: w transposed. BM_tiles_over_team: the chapter's products in our tiles on two
// threads, against oneDNN's team of all cores in turn, in float32 and in bf16 mode.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "asyncgrad/backends/cpu/onednn.h"
#include "asyncgrad/backends/cpu/panel_product.h"
#include "asyncgrad/backends/cpu/product.h"
#include "chapter_products.h"
#include "figures.h"
#include "two_threads.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr std::align_val_t line{64};
struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, line); }
};
using Scratch = std::unique_ptr<std::byte[], AlignedDelete>;
Scratch make_scratch(std::int64_t bytes) { return Scratch(new (line) std::byte[static_cast<std::size_t>(bytes + 64)]); }

ChapterProduct product_of(const benchmark::State& state) {
  return {"", state.range(0), state.range(1), state.range(2), state.range(3) == 1, state.range(3) == 2};
}
void report(benchmark::State& state, const ChapterProduct& p) {
  const auto flop = 2.0 * static_cast<double>(p.m * p.n * p.k);
  state.counters["gflops"] = benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void BM_small_panels(benchmark::State& state) {
  const ChapterProduct p = product_of(state);
  ProductMemory memory(p);
  const Scratch scratch = make_scratch(detail::panel_scratch_bytes(p.k));
  const detail::PanelProduct<float> block{.m = p.m,
                                          .n = p.n,
                                          .k = p.k,
                                          .x = memory.x.data(),
                                          .x_row = p.transpose_x ? 1 : p.k,
                                          .x_column = p.transpose_x ? p.m : 1,
                                          .w = memory.w.data(),
                                          .w_row = p.transpose_w ? 1 : p.n,
                                          .w_column = p.transpose_w ? p.k : 1,
                                          .out = memory.out.data(),
                                          .out_row = p.n};
  for (auto _ : state) detail::panel_product(block, scratch.get());
  report(state, p);
}

void BM_small_sgemm(benchmark::State& state) {
  omp_set_num_threads(1);
  const ChapterProduct p = product_of(state);
  ProductMemory memory(p);
  for (auto _ : state) {
    detail::onednn_product(p.m, p.n, p.k, {memory.x.data(), p.transpose_x ? p.m : p.k, p.transpose_x},
                           {memory.w.data(), p.transpose_w ? p.k : p.n, p.transpose_w},
                           {memory.out.data(), p.n, false});
  }
  report(state, p);
}

void BM_small_primitive(benchmark::State& state) {
  omp_set_num_threads(1);
  const ChapterProduct p = product_of(state);
  ProductMemory memory(p);
  TeamProduct product(p, memory);
  for (auto _ : state) product.run();
  report(state, p);
}

void small_shapes(benchmark::internal::Benchmark* bench) {
  constexpr std::array<std::array<std::int64_t, 3>, 14> shapes{{{2, 4, 4},
                                                                {16, 16, 16},
                                                                {32, 10, 64},
                                                                {32, 64, 64},
                                                                {64, 64, 32},
                                                                {64, 64, 64},
                                                                {2, 256, 256},
                                                                {8, 256, 256},
                                                                {16, 128, 128},
                                                                {128, 128, 128},
                                                                {128, 10, 784},
                                                                {1024, 10, 512},
                                                                {256, 256, 256},
                                                                {1024, 512, 4}}};
  bench->ArgNames({"m", "n", "k", "layout"});
  for (const auto& [m, n, k] : shapes) {
    for (const std::int64_t layout : {0, 1, 2}) bench->Args({m, n, k, layout});
  }
}
BENCHMARK(BM_small_panels)->Apply(small_shapes);
BENCHMARK(BM_small_sgemm)->Apply(small_shapes);
BENCHMARK(BM_small_primitive)->Apply(small_shapes);

// One product as the backend cuts it.
class TiledProduct {
 public:
  TiledProduct(const ChapterProduct& p, MathMode math)
      : shape_{p.m, p.n, p.k, p.transpose_x, p.transpose_w, math},
        memory_(p),
        scratch_{make_scratch(detail::product_scratch_bytes(shape_)),
                 make_scratch(detail::product_scratch_bytes(shape_))} {}

  void run(TwoThreads& threads) {
    const std::thread::id first = std::this_thread::get_id();
    threads.run(detail::plan_product(shape_).tiles(), [&](int tile) {
      std::byte* const scratch = scratch_[std::this_thread::get_id() == first ? 0 : 1].get();
      detail::run_product_tile<float>(
          shape_, {.x = memory_.x.data(), .w = memory_.w.data(), .bias = nullptr, .out = memory_.out.data()}, tile,
          scratch);
    });
  }

 private:
  detail::ProductShape shape_;
  ProductMemory memory_;
  std::array<Scratch, 2> scratch_;
};

// Product `range(0)` of the chapter, or all five in a row for -1.
void BM_tiles_over_team(benchmark::State& state, MathMode math) {
  const auto team_math = math == MathMode::bf16 ? dnnl::fpmath_mode::bf16 : dnnl::fpmath_mode::strict;
  const std::int64_t chosen = state.range(0);
  std::vector<TiledProduct> tiled;
  std::vector<ProductMemory> memory;
  std::vector<TeamProduct> team;
  memory.reserve(chapter_products.size());
  omp_set_num_threads(omp_get_num_procs());
  for (std::size_t i = 0; i < chapter_products.size(); ++i) {
    if (chosen >= 0 && i != static_cast<std::size_t>(chosen)) continue;
    tiled.emplace_back(chapter_products[i], math);
    memory.emplace_back(chapter_products[i]);
    team.emplace_back(chapter_products[i], memory.back(), team_math);
  }
  TwoThreads threads;
  const auto run_tiled = [&] {
    omp_set_num_threads(1);
    threads.wake();
    for (TiledProduct& product : tiled) product.run(threads);
    const double started = seconds();
    for (TiledProduct& product : tiled) product.run(threads);
    const double elapsed = seconds() - started;
    threads.sleep();
    return elapsed;
  };
  const auto run_team = [&] {
    omp_set_num_threads(omp_get_num_procs());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (TeamProduct& product : team) product.run();
    const double started = seconds();
    for (TeamProduct& product : team) product.run();
    return seconds() - started;
  };
  Pairs pairs;
  for (auto _ : state) {
    const double tiled_s = run_tiled();
    pairs.add(tiled_s, run_team());
  }
  state.SetLabel(chosen < 0 ? "all five" : chapter_products[static_cast<std::size_t>(chosen)].name);
  state.counters["ratio_median"] = pairs.ratio_median();
  state.counters["ratio_min"] = pairs.ratio_min();
  state.counters["ratio_max"] = pairs.ratio_max();
  state.counters["tiles_ms"] = pairs.numerator_ms();
  state.counters["team_ms"] = pairs.denominator_ms();
}
void chapter_rows(benchmark::internal::Benchmark* bench) {
  bench->ArgName("product")->DenseRange(-1, 4)->Iterations(15)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_tiles_over_team, float32, MathMode::float32)->Apply(chapter_rows);
BENCHMARK_CAPTURE(BM_tiles_over_team, bf16, MathMode::bf16)->Apply(chapter_rows);

}  // namespace
}  // namespace asyncgrad::benchmarks
