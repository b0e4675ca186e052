// The order of a data set's items in an epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace asyncgrad::data {

// The numbers 0 to count - 1 in a random order that depends on nothing but the arguments: the shuffle of Fisher and
// Yates (D. Knuth, The Art of Computer Programming, volume 2, algorithm P), with numbers by SplitMix64.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace asyncgrad::data
