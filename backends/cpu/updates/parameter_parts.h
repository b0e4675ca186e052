// Cuts an optimiser's group of parameters into tiles. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

// Some elements of one parameter.
struct ParameterPart {
  int parameter;
  std::int64_t index;  // among the parts of the parameter
  Range range;
};

// The tiles of the operation's first `count` operands, seen as one sequence: many small operands make one tile.
inline int parameter_tiles(const KernelCall& call, int count) {
  std::int64_t elements = 0;
  for (int i = 0; i < count; ++i) elements += call.numel(i);
  return tile_count(elements, tile_elements);
}

// Calls visit(part) for every part that begins in the tile's range of elements. Parts are counted from the beginning of
// each parameter, so that they are the same in every group.
template <class Visit>
void visit_parts(const KernelCall& call, int count, int tile, Visit visit) {
  const std::int64_t begin = tile * tile_elements, end = begin + tile_elements;
  std::int64_t first = 0;  // of the parameter, among all elements
  for (int i = 0; i < count && first < end; ++i) {
    const std::int64_t size = call.numel(i);
    std::int64_t index = (std::max<std::int64_t>(0, begin - first) + tile_elements - 1) / tile_elements;
    for (; index * tile_elements < size && first + index * tile_elements < end; ++index) {
      visit(ParameterPart{i, index, {index * tile_elements, std::min(size, (index + 1) * tile_elements)}});
    }
    first += size;
  }
}

}  // namespace asyncgrad::detail
