// The cost of the engine itself: operations so small that computing them takes next to nothing. A figure is 1 /
// items_per_second; `system_bytes` is what the process has taken from the system meanwhile, after a first round.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "counters.h"
#include "figures.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr int increments = 10'000;

// Options of the engine for as long as it lives.
class WithOptions {
 public:
  explicit WithOptions(const EngineOptions& options) { set_engine_options(options); }
  WithOptions(const WithOptions&) = delete;
  WithOptions& operator=(const WithOptions&) = delete;
  ~WithOptions() { set_engine_options({}); }
};

// Bytes that the allocator of the process has from the system.
std::int64_t system_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.arena + info.hblkhd);
}

// Runs `body` for every iteration, once before; each is `items` operations.
template <class Body>
void measure(benchmark::State& state, std::int64_t items, Body body) {
  body();
  const std::int64_t before = system_bytes();
  for (auto _ : state) body();
  state.SetItemsProcessed(state.iterations() * items);
  state.counters["system_bytes"] = static_cast<double>(system_bytes() - before);
  state.counters["record_bytes"] = static_cast<double>(engine_figures().record_bytes);
}

// count times y = y + 1 on a 1x2 tensor, as a user writes it, then a wait.
void increment(std::int64_t count) {
  Tensor y = zeros({1, 2});
  for (std::int64_t i = 0; i < count; ++i) y = y + 1;
  wait_all();
}

// The same with a wait after each.
void increment_and_wait(std::int64_t count) {
  Tensor y = zeros({1, 2});
  for (std::int64_t i = 0; i < count; ++i) {
    y = y + 1;
    y.wait();
  }
}

void BM_inline_async(benchmark::State& state) {
  const Inference inference;
  measure(state, increments, [] { increment(increments); });
}
BENCHMARK(BM_inline_async)->UseRealTime()->Unit(benchmark::kMicrosecond);

void BM_inline_sync(benchmark::State& state) {
  const Inference inference;
  measure(state, increments, [] { increment_and_wait(increments); });
}
BENCHMARK(BM_inline_sync)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The front end alone: the first operation of the chain is a long one, which a worker computes.
void BM_enqueue(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.workers = 1, .queue_capacity = 2 * increments, .inline_tiny = false});
  double seconds_queueing = 0;
  const auto queue = [&] {
    Tensor y = randn({1 << 22}).slice(0, 2).reshape({1, 2});
    const double started = seconds();
    for (int i = 0; i < increments; ++i) y = y + 1;
    seconds_queueing = seconds() - started;
    wait_all();
  };
  queue();
  const std::int64_t before = system_bytes();
  for (auto _ : state) {
    queue();
    state.SetIterationTime(seconds_queueing);
  }
  state.SetItemsProcessed(state.iterations() * increments);
  state.counters["system_bytes"] = static_cast<double>(system_bytes() - before);
}
BENCHMARK(BM_enqueue)->UseManualTime()->Unit(benchmark::kMicrosecond);

// The loop really queued, nothing runs at the call: one worker computes, or the front end while it waits.
void BM_async_queued(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.inline_tiny = false});
  measure(state, increments, [] { increment(increments); });
}
BENCHMARK(BM_async_queued)->UseRealTime()->Unit(benchmark::kMicrosecond);

void BM_chain(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.inline_tiny = false});
  measure(state, state.range(0), [&] { increment(state.range(0)); });
}
BENCHMARK(BM_chain)->RangeMultiplier(10)->Range(1'000, 1'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// All read one tensor.
void BM_fan_out(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.inline_tiny = false});
  measure(state, state.range(0), [&] {
    const Tensor x = zeros({1, 2});
    for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(x + 1);
    wait_all();
  });
}
BENCHMARK(BM_fan_out)->RangeMultiplier(10)->Range(1'000, 1'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Two read the result of one, and the next one reads both.
void BM_diamond(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.inline_tiny = false});
  measure(state, state.range(0) / 3 * 3, [&] {
    Tensor x = zeros({1, 2});
    for (std::int64_t i = 0; i < state.range(0) / 3; ++i) {
      const Tensor left = x + 1, right = x - 1;
      x = left * right;
    }
    wait_all();
  });
}
BENCHMARK(BM_diamond)->RangeMultiplier(10)->Range(1'000, 1'000'000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Queued, and computed by the thread that waits: it comes to the operation before a worker hears of it.
void BM_sync_helped(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.inline_tiny = false});
  measure(state, increments, [] { increment_and_wait(increments); });
}
BENCHMARK(BM_sync_helped)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The time that this machine takes for a word to another core and one back, which bounds a hand-over. On a virtual
// machine it may change from minute to minute.
void BM_round_trip(benchmark::State& state) {
  struct alignas(128) Word {
    std::atomic<std::int64_t> value{0};
    void wait_for(std::int64_t number) const {
      while (value.load(std::memory_order_acquire) < number) detail::pause_briefly();
    }
  } there, back;
  constexpr std::int64_t end = INT64_MAX / 2;
  std::thread other([&there, &back] {
    for (std::int64_t i = 1; there.value.load(std::memory_order_relaxed) < end; ++i) {
      there.wait_for(i);
      back.value.store(i, std::memory_order_release);
    }
  });
  std::int64_t sent = 0;
  const auto pass = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      there.value.store(++sent, std::memory_order_release);
      back.wait_for(sent);
    }
  };
  pass(increments);
  for (auto _ : state) pass(increments);
  there.value.store(end, std::memory_order_release);
  other.join();
  state.SetItemsProcessed(state.iterations() * increments);
}
BENCHMARK(BM_round_trip)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Queued, and computed by a worker: the front end only looks.
void BM_sync_handover(benchmark::State& state) {
  const Inference inference;
  const WithOptions options({.workers = 1, .inline_tiny = false});
  const detail::Engine& engine = detail::Engine::get();
  measure(state, increments, [&] {
    Tensor y = zeros({1, 2});
    for (int i = 0; i < increments; ++i) {
      y = y + 1;
      detail::Engine::get().queue().offer_staged();
      const std::uint64_t number = detail::Engine::get().next_number() - 1;
      while (!engine.reached({.number = number})) detail::pause_briefly();
    }
  });
}
BENCHMARK(BM_sync_handover)->UseRealTime()->Unit(benchmark::kMicrosecond);

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

// The same for a 64-64-10 classifier on a batch of 32.
void BM_small_mlp_step(benchmark::State& state) {
  const nn::Sequential net{nn::Dense(64, 64, relu), nn::Dense(64, 10)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01});
  const Tensor x = randn({32, 64});
  const Tensor labels = Tensor::from(std::vector<std::int64_t>(32, 3), {32});
  for (auto _ : state) {
    const Tensor loss = mean(nn::softmax_cross_entropy(net(x), labels));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  wait_all();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_small_mlp_step)->UseRealTime()->Unit(benchmark::kMicrosecond);

double products_seconds(int workers, const std::vector<Tensor>& operands) {
  const WithOptions options({.workers = workers});
  constexpr int rounds = 20;
  double started = 0;
  for (int round = -2; round < rounds; ++round) {
    if (round == 0) started = seconds();
    for (const Tensor& x : operands) benchmark::DoNotOptimize(matmul(x, x));
    wait_all();
  }
  return (seconds() - started) / rounds;
}

// 64 independent products of 64x64 by one worker and by two, in turn: ratio_median is how many times faster two are.
void BM_independent_small(benchmark::State& state) {
  const Inference inference;
  std::vector<Tensor> operands;
  for (int i = 0; i < 64; ++i) operands.push_back(randn({64, 64}));
  Pairs pairs;
  for (auto _ : state) {
    const double one_s = products_seconds(1, operands);
    pairs.add(one_s, products_seconds(2, operands));
  }
  report(state, pairs, "one", "two");
}
BENCHMARK(BM_independent_small)->Iterations(15)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace asyncgrad::benchmarks
