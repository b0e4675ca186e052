// Kernels along an axis whose tiles are ranges of lines: the elements that differ in that axis alone. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

// Neighbouring lines share cache lines, so that a tile of long ones has several, too.
inline std::int64_t least_lines(const ReduceAttributes& a) { return std::clamp<std::int64_t>(a.inner, 1, line_floats); }
inline std::int64_t lines_per_tile(const ReduceAttributes& a) {
  return std::max(items_per_tile(a.axis), least_lines(a));
}

inline int line_tiles(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_count(a.outer * a.inner, lines_per_tile(a));
}

inline Range lines_of_tile(const KernelCall& call, int tile) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_range(a.outer * a.inner, lines_per_tile(a), tile, least_lines(a));
}

// Calls function(first line, its first element, number of lines) for groups of up to `max_lines` lines of a tile that
// lie side by side. Their elements at each place of the axis are adjacent in memory, so that whole cache lines are
// used.
template <class Function>
void each_group_of_lines(const KernelCall& call, int tile, std::int64_t max_lines, Function function) {
  const auto& a = call.attributes<ReduceAttributes>();
  const Range lines = lines_of_tile(call, tile);
  if (a.inner == 1) {
    for (std::int64_t line = lines.begin; line < lines.end; ++line) function(line, line * a.axis, std::int64_t{1});
    return;
  }
  for (std::int64_t line = lines.begin, count = 0; line < lines.end; line += count) {
    count = std::min({max_lines, lines.end - line, a.inner - line % a.inner});
    function(line, line / a.inner * a.axis * a.inner + line % a.inner, count);
  }
}

}  // namespace asyncgrad::detail
