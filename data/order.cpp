#include "asyncgrad/data/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/data/random.h"

namespace asyncgrad::data {

namespace {

// A number in [0, count), the upper half of a product. Its probability is off by less than 2^-64.
std::uint64_t below(std::uint64_t random, std::uint64_t count) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(Product{random} * count >> 64);
}

std::vector<std::int64_t> in_order(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  if (count < 0) throw_error("shuffled", fmt::format("the number of items must be at least 0, got {}", count));
  std::vector<std::int64_t> order = in_order(count);
  const std::uint64_t key = detail::mixed_key(seed, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(split_mix(key + i), i)]);
  return order;
}

namespace {

// The numbers of an epoch. They are no item's.
Random numbers_of(std::uint64_t seed, std::int64_t epoch) {
  return {detail::mixed_key(seed, 0, detail::KeyPurpose::weighted), epoch, 0};
}
// In (0, 1].
double above_0(Random& random) { return 1 - random.uniform(); }

std::vector<std::int64_t> drawn_again(const std::vector<double>& weights, std::size_t samples, Random random) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  std::vector<std::int64_t> order(samples);
  for (std::int64_t& index : order) {
    // The first item whose running sum is not below the number. The number is above 0, so that no item of weight 0 is
    // chosen, and at most the last sum, so that rounding does not lead past the end.
    index = std::ranges::lower_bound(sums, above_0(random) * sums.back()) - sums.begin();
  }
  return order;
}

std::vector<std::int64_t> drawn_once(const std::vector<double>& weights, std::size_t samples, Random random) {
  std::vector<std::pair<double, std::int64_t>> keys;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double u = above_0(random);
    // The logarithm of -log(u) / weight, which might overflow.
    if (weights[i] > 0) keys.emplace_back(std::log(-std::log(u)) - std::log(weights[i]), static_cast<std::int64_t>(i));
  }
  std::ranges::sort(keys);
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < samples; ++i) order.push_back(keys[i].second);
  return order;
}

}  // namespace

Sampler weighted(std::vector<double> weights, WeightedOptions options, Location where) {
  const CallSite site(where);
  for (const double weight : weights) check_not_negative("weighted", "a weight", weight);
  const std::int64_t positive = std::ranges::count_if(weights, [](double weight) { return weight > 0; });
  if (positive == 0) throw_error("weighted", "needs a weight above 0");
  if (!std::isfinite(std::accumulate(weights.begin(), weights.end(), 0.0))) {
    throw_error("weighted", "the sum of the weights is not finite; divide all of them by the largest");
  }
  if (options.samples < 0) {
    throw_error("weighted", fmt::format("samples must be at least 0, got {}", options.samples));
  }
  const auto count = static_cast<std::int64_t>(weights.size());
  const std::int64_t samples = options.samples == 0 ? count : options.samples;
  if (!options.replacement && samples > positive) {
    throw_error("weighted",
                fmt::format("cannot draw {} items without replacement, {} have a weight above 0; draw fewer", samples,
                            positive));
  }
  if (options.replacement) {  // sums of the smallest numbers would be rounded away
    const double largest = std::ranges::max(weights);
    for (double& weight : weights) weight /= largest;
  }
  return [weights = std::move(weights), count, samples = static_cast<std::size_t>(samples), options](
             std::int64_t items, std::int64_t epoch) {
    if (items != count)
      throw_error("weighted", fmt::format("there are {} weights for {} items; each item needs one", count, items));
    const Random random = numbers_of(options.seed, epoch);
    return options.replacement ? drawn_again(weights, samples, random) : drawn_once(weights, samples, random);
  };
}

std::vector<std::vector<std::int64_t>> split_indices(std::int64_t count, const std::vector<double>& shares,
                                                     SplitOptions options, Location where) {
  const CallSite site(where);
  if (count < 0) throw_error("split", fmt::format("the number of items must be at least 0, got {}", count));
  double sum = 0;
  for (const double share : shares) {
    if (!(share > 0)) throw_error("split", fmt::format("a share must be positive, got {}", share));
    sum += share;
  }
  constexpr double rounding = 1e-9;
  if (sum > 1 + rounding)
    throw_error("split", fmt::format("the shares are {} together, more than 1; divide them by their sum", sum));
  std::vector<std::int64_t> order = options.shuffled ? shuffled(count, options.seed, 0) : in_order(count);
  std::vector<std::vector<std::int64_t>> parts;
  double end = 0;
  std::int64_t first = 0;
  for (const double share : shares) {
    end += share;
    const std::int64_t last = std::min<std::int64_t>(count, std::llround(static_cast<double>(count) * end));
    parts.emplace_back(order.begin() + first, order.begin() + last);
    first = last;
  }
  return parts;
}

}  // namespace asyncgrad::data
