// The attributes of operations that make numbers: constants, ranges and random ones. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/backend/attributes/number.h"

namespace asyncgrad::detail {

struct FillAttributes {
  Number value;
};
struct ArangeAttributes {
  Number start, step;
};
struct RandomAttributes {
  std::uint64_t seed, first_block;
  double low, high;  // of uniform; mean and standard deviation of normal
};
// Integers from `low` to low + span - 1. An element takes 64 bits of Philox, so two elements share a block.
struct RandintAttributes {
  std::uint64_t seed, first_block;
  std::int64_t low;
  std::uint64_t span;
};
// Element i is kept, times `scale`, if the i-th 32-bit word from `first_block` on is above `last_dropped`, else 0.
struct DropoutAttributes {
  std::uint64_t seed, first_block;
  double scale;
  std::uint32_t last_dropped;
  std::array<std::uint8_t, 4> padding{};
};

}  // namespace asyncgrad::detail
