// Kernels along an axis whose tiles are strips of lines: of the elements that differ in that axis alone. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// The maximum number of neighbouring lines of a strip. It is as wide as it may be, because a narrow one touches a page
// of memory for every few elements.
inline constexpr std::int64_t strip_columns = 256;

// A matrix of `rows` rows and `columns` columns whose rows are `stride` elements apart.
template <class T>
struct Strip {
  const T* data;
  std::int64_t rows, columns, stride;
};

// Two functions that reduce a strip, to an element of `out` for each of its rows, whose elements lie one behind the
// other (stride = columns), or for each of its columns.
template <class T>
struct StripLoops {
  void (*rows)(const Strip<T>& strip, T* out);
  void (*columns)(const Strip<T>& strip, T* out);
};

// The rows of a narrow matrix that a loop goes through side by side, as one row about as wide as a strip may be.
template <class T>
std::int64_t rows_side_by_side(const Strip<T>& strip) {
  const std::int64_t most = strip_columns / strip.columns;
  return strip.stride == strip.columns && strip.rows >= 2 * most ? most : 1;
}

// The type in which the elements of a line are added up or multiplied: unsigned for integers, so that they wrap around.
template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

// Attributes have extents `outer`, `axis` and `inner`.
template <class Attributes>
std::int64_t strips(const Attributes& a) {
  return divided_up(a.inner, strip_columns);
}
template <class Attributes>
std::int64_t strips_per_tile(const Attributes& a) {
  return items_per_tile(a.axis * std::min(a.inner, strip_columns));
}
template <class Attributes>
int strip_tiles(const KernelCall& call) {
  const auto& a = call.attributes<Attributes>();
  return tile_count(a.outer * strips(a), strips_per_tile(a));
}

// Calls rows(strip, first line) for a tile's lines if the axis is the last one: each row of the strip is a line.
// Otherwise it calls columns(strip, first line) for each of the tile's strips: each column is a line.
template <class Attributes, class T, class RowsFunction, class ColumnsFunction>
void each_strip(const KernelCall& call, int tile, const T* x, RowsFunction rows, ColumnsFunction columns) {
  const auto& a = call.attributes<Attributes>();
  const Range range = tile_range(a.outer * strips(a), strips_per_tile(a), tile);
  if (a.inner == 1) {
    rows(Strip<T>{x + range.begin * a.axis, range.end - range.begin, a.axis, a.axis}, range.begin);
    return;
  }
  for (std::int64_t strip = range.begin; strip < range.end; ++strip) {
    const std::int64_t outer = strip / strips(a), first = strip % strips(a) * strip_columns;
    columns(Strip<T>{x + outer * a.axis * a.inner + first, a.axis, std::min(strip_columns, a.inner - first), a.inner},
            outer * a.inner + first);
  }
}

// Calls one of the functions with strips of input 1 and with what each is reduced to, in output 0.
template <class T, class RowsFunction, class ColumnsFunction>
void reduce_strips(const KernelCall& call, int tile, RowsFunction reduce_rows, ColumnsFunction reduce_columns) {
  T* const out = call.data<T>(0);
  each_strip<ReduceAttributes>(
      call, tile, call.data<T>(1), [&](const Strip<T>& strip, std::int64_t line) { reduce_rows(strip, out + line); },
      [&](const Strip<T>& strip, std::int64_t line) { reduce_columns(strip, out + line); });
}

}  // namespace asyncgrad::detail
