// The cost of an optimiser's step: with many parameters it is the time to stream them, their state and their gradients
// through memory once; `bytes_per_second` counts every array that is read and every one that is written.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::benchmarks {
namespace {

// Steps on `state.range(0)` parameters of float32 in one tensor, each waited for.
template <class Optimiser, class Options>
void measure(benchmark::State& state, const Options& options, std::int64_t arrays_read, std::int64_t arrays_written) {
  const std::int64_t count = state.range(0);
  const Tensor parameters = parameter(randn({count}));
  Optimiser optimiser({parameters}, options);
  sum(parameters * randn({count})).backward();
  optimiser.step();  // makes the state
  wait_all();
  for (auto _ : state) {
    optimiser.step();
    wait_all();
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.SetBytesProcessed(state.iterations() * count * 4 * (arrays_read + arrays_written));
}

void BM_sgd_momentum(benchmark::State& state) {
  measure<optim::SGD>(state, optim::SGDOptions{.lr = 1e-3, .momentum = 0.9}, 3, 2);
}
BENCHMARK(BM_sgd_momentum)->Arg(10'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_adam(benchmark::State& state) { measure<optim::Adam>(state, optim::AdamOptions{}, 4, 3); }
BENCHMARK(BM_adam)->Arg(10'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
