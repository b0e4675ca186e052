#include "asyncgrad/data/order.h"

#include <numeric>
#include <utility>

namespace asyncgrad::data {

namespace {

// The number of SplitMix64 that belongs to a counter: https://prng.di.unimi.it/splitmix64.c
std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// A number in [0, count), the upper half of a product. Its probability is off by less than 2^-64.
std::uint64_t below(std::uint64_t random, std::uint64_t count) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(Product{random} * count >> 64);
}

}  // namespace

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = mixed(mixed(seed) ^ static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(mixed(key + i), i)]);
  return order;
}

}  // namespace asyncgrad::data
