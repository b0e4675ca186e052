// The order of a data set's items in an epoch, and parts of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "asyncgrad/core/location.h"

namespace asyncgrad::data {

// The numbers 0 to count - 1 in a random order that depends on nothing but the arguments: the shuffle of Fisher and
// Yates (D. Knuth, The Art of Computer Programming, volume 2, algorithm P), with numbers by SplitMix64. Throws Error for a
// negative count.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

// Chooses the items of an epoch of a data set with `count` items: their indices, in any number and as often as it
// likes. It may be asked more than once, and gives the same for the same arguments.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t count, std::int64_t epoch)>;

struct WeightedOptions {
  bool replacement = true;   // an item may come several times in an epoch
  std::int64_t samples = 0;  // of an epoch; 0 stands for as many as there are weights
  std::uint64_t seed = 0;
};

// Draws items with probabilities in proportion to their weights: {.sampler = ag::data::weighted({1, 1, 5})}. Without
// replacement each one is drawn among those that are left, by the smallest -log(u) / weight (Efraimidis and Spirakis
// 2006, "Weighted random sampling with a reservoir"). What is drawn depends on the seed and the epoch alone.
//
// Throws Error for weights that are negative, not finite or all 0, for samples below 0, and without replacement for
// more samples than positive weights. The sampler throws Error for a data set with another number of items.
Sampler weighted(std::vector<double> weights, WeightedOptions options = {}, Location where = Location::current());

struct SplitOptions {
  bool shuffled = true;  // else the parts follow each other as the items do
  std::uint64_t seed = 0;
};
// The indices of the parts of a data set with `count` items, each of which has its share of them, rounded: {0.8, 0.2}.
// No item is in two parts. Throws Error for a negative count, for shares that are not positive, and for shares of more
// than 1 together.
std::vector<std::vector<std::int64_t>> split_indices(std::int64_t count, const std::vector<double>& shares,
                                                     SplitOptions options = {}, Location where = Location::current());

}  // namespace asyncgrad::data
