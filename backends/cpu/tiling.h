// How kernels are cut into tiles, and how they find their element type. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/core/kernels.h"
#include "asyncgrad/core/storage/storage.h"

namespace asyncgrad::detail {

// Elements of work that a tile should have: long enough to be worth a thread's visit (some 20 µs), short enough that
// threads end together.
inline constexpr std::int64_t tile_elements = 65536;

struct Range {
  std::int64_t begin, end;
};

// The number of tiles of `total` items, `items` in each; at least one.
constexpr int tile_count(std::int64_t total, std::int64_t items) {
  return static_cast<int>(std::max<std::int64_t>(1, (total + items - 1) / items));
}
// The items of one tile.
constexpr Range tile_range(std::int64_t total, std::int64_t items, int tile) {
  return {std::min(total, tile * items), std::min(total, (tile + 1) * items)};
}
// How many items of `elements` elements each make a tile.
constexpr std::int64_t items_per_tile(std::int64_t elements) {
  return std::max<std::int64_t>(1, tile_elements / std::max<std::int64_t>(1, elements));
}

// Calls function(T{}) for the C++ type of `dtype`.
template <class Function>
void visit_dtype(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::float64:
      return function(double{});
    case DType::int64:
      return function(std::int64_t{});
  }
}
// The same for types that are known to be floating.
template <class Function>
void visit_floating(DType dtype, Function function) {
  if (dtype == DType::float32) return function(float{});
  function(double{});
}

// A number in the type T of its tensor.
template <class T>
constexpr T number_as(Number number) {
  if constexpr (std::is_integral_v<T>) {
    return number.integer;
  } else {
    return static_cast<T>(number.floating);
  }
}

}  // namespace asyncgrad::detail
