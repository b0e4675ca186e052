// Random integers of every backend. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// A number in [0, span), the upper half of a product of 64 random bits: off by less than span / 2^64.
constexpr std::uint64_t below(std::uint64_t random, std::uint64_t span) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(Product{random} * span >> 64);
}

}  // namespace asyncgrad::detail
