// Kernels that reduce few long lines in two operations: blocks of them, and then what the blocks give. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "asyncgrad/backends/cpu/rows/axis_strips.h"
#include "asyncgrad/core/backend/attributes/reductions.h"

namespace asyncgrad::detail {

// The first operation. An item is a block of each line of those side by side.
inline std::int64_t line_blocks(const ReduceAttributes& a) { return a.outer * divided_up(a.axis, line_block(a)); }
inline std::int64_t line_blocks_per_tile(const ReduceAttributes& a) { return items_per_tile(line_block(a) * a.inner); }
inline int line_block_tiles(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_count(line_blocks(a), line_blocks_per_tile(a));
}

// Calls row(x, n, part) for each block of n elements of the last axis, or else columns(strip, rows, parts) for each strip
// of a block, which is the strip's first `rows` rows.
template <class T, class RowFunction, class ColumnsFunction>
void each_block(const KernelCall& call, int tile, RowFunction row, ColumnsFunction columns) {
  const auto& a = call.attributes<ReduceAttributes>();
  const std::int64_t blocks = divided_up(a.axis, line_block(a));
  const Range items = tile_range(line_blocks(a), line_blocks_per_tile(a), tile);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t begin = item % blocks * line_block(a), left = a.axis - begin, n = std::min(left, line_block(a));
    const T* const x = call.data<T>(1) + (item / blocks * a.axis + begin) * a.inner;
    Total<T>* const parts = call.data<Total<T>>(0) + item * a.inner;
    if (a.inner == 1) {
      row(x, n, parts);
      continue;
    }
    for (std::int64_t first = 0; first < a.inner; first += strip_columns) {
      columns(Strip<T>{x + first, left, std::min(strip_columns, a.inner - first), a.inner}, n, parts + first);
    }
  }
}

// The second operation, with tiles as any reduction: combine(combine(initial, part), part)… of each line, in order, and
// result(of that) as its element of the output.
template <class T, class Combine, class Result>
void combine_parts(const KernelCall& call, int tile, Total<T> initial, Combine combine, Result result) {
  T* const out = call.data<T>(0);
  const auto combine_columns = [&](const Strip<Total<T>>& strip, std::int64_t line) {
    std::array<Total<T>, strip_columns> totals;
    std::fill_n(totals.begin(), strip.columns, initial);
    for (std::int64_t row = 0; row < strip.rows; ++row) {
      const Total<T>* const parts = strip.data + row * strip.stride;
      for (std::int64_t j = 0; j < strip.columns; ++j) {
        Total<T>& total = totals[static_cast<std::size_t>(j)];
        total = combine(total, parts[j]);
      }
    }
    for (std::int64_t j = 0; j < strip.columns; ++j) out[line + j] = result(totals[static_cast<std::size_t>(j)]);
  };
  each_strip<ReduceAttributes>(
      call, tile, call.data<Total<T>>(1),
      [&](const Strip<Total<T>>& strip, std::int64_t line) {
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          combine_columns({strip.data + row * strip.stride, strip.columns, 1, 1}, line + row);
        }
      },
      combine_columns);
}

}  // namespace asyncgrad::detail
