// What the engine itself costs: operations so small that computing them takes next to nothing. A figure is
// 1 / items_per_second.
#include <benchmark/benchmark.h>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr int increments = 10'000;

// Ten thousand times y = y + 1 on a 1x2 tensor, as a user writes it, then a wait.
void BM_inline_async(benchmark::State& state) {
  const Inference inference;
  for (auto _ : state) {
    Tensor y = zeros({1, 2});
    for (int i = 0; i < increments; ++i) y = y + 1;
    wait_all();
  }
  state.SetItemsProcessed(state.iterations() * increments);
}
BENCHMARK(BM_inline_async)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The same with a wait after each.
void BM_inline_sync(benchmark::State& state) {
  const Inference inference;
  for (auto _ : state) {
    Tensor y = zeros({1, 2});
    for (int i = 0; i < increments; ++i) {
      y = y + 1;
      y.wait();
    }
  }
  state.SetItemsProcessed(state.iterations() * increments);
}
BENCHMARK(BM_inline_sync)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The same really queued: nothing runs at the call.
void BM_async_queued(benchmark::State& state) {
  const Inference inference;
  set_engine_options({.inline_tiny = false});
  for (auto _ : state) {
    Tensor y = zeros({1, 2});
    for (int i = 0; i < increments; ++i) y = y + 1;
    wait_all();
  }
  set_engine_options({});
  state.SetItemsProcessed(state.iterations() * increments);
}
BENCHMARK(BM_async_queued)->UseRealTime()->Unit(benchmark::kMicrosecond);

// A whole training step of a 4-4-1 network on a batch of two: forward, loss, backward and update.
void BM_tiny_mlp_step(benchmark::State& state) {
  const nn::Sequential net{nn::Dense(4, 4, relu), nn::Dense(4, 1)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01});
  const Tensor x = randn({2, 4}), y = ones({2, 1});
  for (auto _ : state) {
    const Tensor loss = mean(nn::l2_loss(net(x), y));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  wait_all();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_tiny_mlp_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
