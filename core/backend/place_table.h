// A table of places, hashed by the indices that stand there: its size, and where to look. Internal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace asyncgrad::detail {

// The slots of a table for `count` places. At least half of them stay free, so that a search ends.
struct PlaceTable {
  explicit constexpr PlaceTable(std::int64_t count)
      : slots(std::bit_ceil(2 * static_cast<std::uint64_t>(std::max<std::int64_t>(1, count)))),
        shift(64 - std::countr_zero(slots)) {}

  constexpr std::uint64_t first_slot(std::int64_t index) const {
    return static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15 >> shift;  // 2^64 / golden ratio
  }
  constexpr std::uint64_t next_slot(std::uint64_t slot) const { return (slot + 1) & (slots - 1); }

  std::uint64_t slots;  // a power of two
  int shift;
};

}  // namespace asyncgrad::detail
