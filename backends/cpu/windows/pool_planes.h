// Pooling of one plane (H, W). Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/pool_plane.h"

namespace asyncgrad::detail {

// Functions of `count` planes one after another. Where rows of outputs are long enough, and windows not so small that
// it saves nothing, these are reduced along the height first, a row of the input at a time, and then along the width.
// `scratch` has pool_scratch_bytes(). The maximum is that of the first element that is the largest, or of the last NaN; of
// zeros of both signs max() may take another one.
template <class T>
struct PoolPlanes {
  void (*max)(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::byte* scratch);
  // Does the same, and writes the place of each maximum in its plane.
  void (*max_at)(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places,
                 std::byte* scratch);
  // The mean, in which padding counts as 0.
  void (*mean)(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::byte* scratch);
  void (*mean_grad)(const PoolPlane& plane, std::int64_t count, const T* dy, T* dx, std::byte* scratch);
};

// For each element of a window along the width, for each column of the input, with its padding, and for each column of the
// output; and one element.
inline std::int64_t pool_scratch_bytes(const PoolPlane& plane) {
  const Range elements = plane.width.elements();
  const std::int64_t padding = std::min(plane.width.padding, plane.width.in);  // wider one is not written
  return 24 * (elements.end - elements.begin) + 16 * (plane.width.in + padding + plane.width.out + 1);
}

// The functions for the best instruction set that this processor has.
const FloatingLoops<PoolPlanes>& pool_planes();

}  // namespace asyncgrad::detail
