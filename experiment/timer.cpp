#include "asyncgrad/experiment/timer.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <utility>

namespace asyncgrad::experiment {

std::int64_t Timer::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

double Timer::stop() {
  times_.push_back(static_cast<double>(now_ns() - start_ns_) * 1e-9);
  return times_.back();
}

double Timer::sum() const { return std::accumulate(times_.begin(), times_.end(), 0.0); }

double Timer::avg() const { return times_.empty() ? 0 : sum() / static_cast<double>(times_.size()); }

std::vector<double> Timer::cumsum() const {
  std::vector<double> sums(times_.size());
  std::partial_sum(times_.begin(), times_.end(), sums.begin());
  return sums;
}

Benchmark::Benchmark(std::string description) : description_(std::move(description)) {}

Benchmark::~Benchmark() {
  std::printf("%s: %.4f sec\n", description_.c_str(), timer_.stop());
  std::fflush(stdout);
}

}  // namespace asyncgrad::experiment
