// The triangles of matrices: out, in (…, rows, columns).
#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int triangle_tiles(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  return tile_count(shape[-1] == 0 ? 0 : shape.numel() / shape[-1], items_per_tile(shape[-1]));
}

void run_triangle(const KernelCall& call, int tile) {
  if (call.numel(0) == 0) return;
  const auto& attributes = call.attributes<TriangleAttributes>();
  const std::int64_t columns = call.shape(0)[-1], height = call.shape(0)[-2];
  const Range rows = tile_range(call.numel(0) / columns, items_per_tile(columns), tile);
  visit_size(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* const out = call.data<T>(0) + row * columns;
      const T* const in = call.data<T>(1) + row * columns;
      // The first column on the far side: above the diagonal, or on it.
      const std::int64_t beyond = row % height + attributes.diagonal + (attributes.is_upper ? 0 : 1);
      const std::int64_t middle = std::clamp<std::int64_t>(beyond, 0, columns);
      const Range kept = attributes.is_upper ? Range{middle, columns} : Range{0, middle};
      std::fill(out, out + kept.begin, T{});
      std::copy_n(in + kept.begin, kept.end - kept.begin, out + kept.begin);
      std::fill(out + kept.end, out + columns, T{});
    }
  });
}

}  // namespace

constinit const Kernel cpu_kernels::triangle{.run = run_triangle, .tiles = triangle_tiles};

}  // namespace asyncgrad::detail
