#include "peak_flops.h"

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "figures.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/peak_flops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::benchmarks {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to hide the latency of one, few enough for registers. Returns what was done, and leaves the sums in
// `to` so that they are computed.
double multiply_add(std::int64_t times, float* to) {
  constexpr int chains = 12;
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, *to), addend = hn::Set(d, 1.0F);
  hn::Vec<decltype(d)> sums[chains];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::int64_t i = 0; i < times; ++i) {
    for (auto& sum : sums) sum = hn::MulAdd(sum, factor, addend);
  }
  for (int i = 1; i < chains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *to = hn::GetLane(hn::SumOfLanes(d, sums[0]));
  return 2.0 * chains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(times);
}

}  // namespace HWY_NAMESPACE
}  // namespace asyncgrad::benchmarks
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::benchmarks {
namespace {
HWY_EXPORT(multiply_add);

double flops_of_one_core() {
  constexpr std::int64_t times = 1 << 21;  // some milliseconds
  float value = 0.5F;
  const double started = seconds();
  const double done = HWY_DYNAMIC_DISPATCH(multiply_add)(times, &value);
  return done / (seconds() - started);
}

}  // namespace

double peak_flops() {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::barrier together(static_cast<std::ptrdiff_t>(cores));
  std::vector<double> best(cores);
  std::vector<std::thread> threads;
  for (double& flops : best) {
    threads.emplace_back([&flops, &together] {
      for (int repetition = 0; repetition < 10; ++repetition) {
        together.arrive_and_wait();
        flops = std::max(flops, flops_of_one_core());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double flops : best) sum += flops;
  return sum;
}

}  // namespace asyncgrad::benchmarks
#endif
