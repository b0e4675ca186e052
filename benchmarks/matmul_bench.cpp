// Products beside the best that others make of them, in turn, in one program.
//
// BM_product: n x n matrices in float32 by matmul, many queued and then waited for, or each waited for, against
// oneDNN's sgemm, its matmul primitive (both by its own team on all cores) and numpy's OpenBLAS, a product at a time.
// `speed` is the best one's time over ours; BM_product_mean is the geometric mean of what ran before.
// BM_tiles_over_team: the chapter's products in our tiles on two threads, without the engine, against oneDNN's team, in
// float32 and in bf16 mode.
#include <benchmark/benchmark.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "chapter_products.h"
#include "counters.h"
#include "figures.h"
#include "open_blas.h"
#include "peak_flops.h"
#include "tiled_product.h"

namespace asyncgrad::benchmarks {
namespace {

// The threads of the last product must sleep, not spin, before the next product is measured.
constexpr std::chrono::milliseconds rest{5}, rest_after_open_blas{250};

struct Peer {
  const char* name;
  std::function<void()> multiply;
  Pairs pairs;  // its time, ours
};

std::vector<Peer> peers_at(std::int64_t n, ProductMemory& memory) {
  static const OpenBlas open_blas(ASYNCGRAD_PEERS "/numpy/lib/python3*/site-packages/numpy.libs/libscipy_openblas64_*");
  const float *const x = memory.x.data(), *const w = memory.w.data();
  float* const out = memory.out.data();
  std::vector<Peer> peers{
      {"sgemm", [=] { dnnl_sgemm('N', 'N', n, n, n, 1, x, n, w, n, 0, out, n); }, {}},
      {"primitive", [product = TeamProduct({"", n, n, n}, memory)]() mutable { product.run(); }, {}}};
  if (open_blas.is_there()) peers.push_back({"openblas", [=] { open_blas.multiply(n, x, w, out); }, {}});
  return peers;
}

enum class Wait { at_the_end, for_each };
std::map<Wait, std::vector<double>> speeds;

void BM_product(benchmark::State& state, Wait wait) {
  static const double peak = peak_flops();
  const std::int64_t n = state.range(0);
  const double flop = 2.0 * static_cast<double>(n * n * n);
  const int repetitions = 1 + static_cast<int>(2e9 / flop);
  const auto seconds_of = [repetitions](const auto& multiply) {
    multiply();  // wakes threads
    wait_all();
    const double started = seconds();
    for (int i = 0; i < repetitions; ++i) multiply();
    wait_all();
    return (seconds() - started) / repetitions;
  };
  omp_set_num_threads(omp_get_num_procs());
  const Inference inference;
  ProductMemory memory({"", n, n, n});
  const Tensor x = Tensor::from(memory.x, {n, n}), w = Tensor::from(memory.w, {n, n});
  std::vector<Peer> peers = peers_at(n, memory);
  for (auto _ : state) {
    std::this_thread::sleep_for(rest_after_open_blas);
    const double our_s = seconds_of([&] {
      const Tensor out = matmul(x, w);
      if (wait == Wait::for_each) out.wait();
    });
    for (Peer& peer : peers) {
      std::this_thread::sleep_for(rest);
      peer.pairs.add(seconds_of(peer.multiply), our_s);
    }
  }
  for (const Peer& peer : peers) state.counters[peer.name] = peer.pairs.ratio_median();
  const auto best = std::ranges::min_element(peers, {}, [](const Peer& peer) { return peer.pairs.ratio_median(); });
  const double speed = best->pairs.ratio_median();
  speeds[wait].push_back(speed);
  const double our_flops = flop * 1e3 / best->pairs.denominator_ms();
  state.SetLabel(best->name);
  state.counters["speed"] = speed;
  state.counters["speed_min"] = best->pairs.ratio_min();
  state.counters["speed_max"] = best->pairs.ratio_max();
  state.counters["gflops"] = our_flops * 1e-9;
  state.counters["share_of_peak"] = our_flops / peak;
}
void product_rows(benchmark::internal::Benchmark* bench) {
  bench->ArgName("n")->Unit(benchmark::kMillisecond);
  for (const int n : {64, 96, 128, 200, 256, 384, 512, 768, 1000, 1024, 1500, 2000, 3000, 4000}) bench->Arg(n);
}
BENCHMARK_CAPTURE(BM_product, queued, Wait::at_the_end)->Apply(product_rows)->Iterations(9);
BENCHMARK_CAPTURE(BM_product, waited, Wait::for_each)->Apply(product_rows)->Iterations(9);

void BM_product_mean(benchmark::State& state, Wait wait) {
  double logarithms = 0;
  for (auto _ : state) {
    for (const double speed : speeds[wait]) logarithms += std::log(speed);
  }
  const auto count = static_cast<double>(speeds[wait].size());
  state.counters["products"] = count;
  if (count == 0) return;
  state.counters["speed"] = std::exp(logarithms / count);
  state.counters["speed_least"] = *std::ranges::min_element(speeds[wait]);
}
BENCHMARK_CAPTURE(BM_product_mean, queued, Wait::at_the_end)->Iterations(1);
BENCHMARK_CAPTURE(BM_product_mean, waited, Wait::for_each)->Iterations(1);

// Product `range(0)` of the chapter, or all five in a row for -1.
void BM_tiles_over_team(benchmark::State& state, MathMode math) {
  const auto team_math = math == MathMode::bf16 ? dnnl::fpmath_mode::bf16 : dnnl::fpmath_mode::strict;
  const std::int64_t chosen = state.range(0);
  std::vector<TiledProduct> tiled;
  std::vector<ProductMemory> memory;
  std::vector<TeamProduct> team;
  memory.reserve(2 * chapter_products.size());
  omp_set_num_threads(omp_get_num_procs());
  for (std::size_t i = 0; i < chapter_products.size(); ++i) {
    if (chosen >= 0 && i != static_cast<std::size_t>(chosen)) continue;
    const ChapterProduct& p = chapter_products[i];
    const detail::ProductShape shape{p.m, p.n, p.k, p.transpose_x, p.transpose_w, math};
    tiled.emplace_back(shape, memory.emplace_back(p));
    memory.emplace_back(p);
    team.emplace_back(p, memory.back(), team_math);
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
  report(state, pairs, "tiles", "team");
}
void chapter_rows(benchmark::internal::Benchmark* bench) {
  bench->ArgName("product")->DenseRange(-1, 4)->Iterations(15)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(BM_tiles_over_team, float32, MathMode::float32)->Apply(chapter_rows);
BENCHMARK_CAPTURE(BM_tiles_over_team, bf16, MathMode::bf16)->Apply(chapter_rows);

}  // namespace
}  // namespace asyncgrad::benchmarks
