#include "asyncgrad/data/order.h"

#include <numeric>
#include <utility>

#include "asyncgrad/data/random.h"

namespace asyncgrad::data {

namespace {

// A number in [0, count), the upper half of a product. Its probability is off by less than 2^-64.
std::uint64_t below(std::uint64_t random, std::uint64_t count) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(Product{random} * count >> 64);
}

}  // namespace

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = split_mix(split_mix(seed) ^ static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(split_mix(key + i), i)]);
  return order;
}

}  // namespace asyncgrad::data
