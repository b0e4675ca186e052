#include "asyncgrad/backends/broadcast.h"

namespace asyncgrad::detail {

namespace {

using Strides = std::array<std::int64_t, Shape::max_rank>;

// The strides of `shape` along the axes of `out`, with which it is aligned at the last one; 0 where it is repeated.
Strides aligned_strides(const Shape& out, const Shape* shape) {
  Strides strides{};
  if (shape == nullptr) return strides;
  std::int64_t stride = 1;
  for (int i = shape->rank() - 1, o = out.rank() - 1; i >= 0; --i, --o) {
    if ((*shape)[i] != 1) strides[static_cast<std::size_t>(o)] = stride;
    stride *= (*shape)[i];
  }
  return strides;
}

}  // namespace

Broadcast::Broadcast(const Shape& out, const std::array<const Shape*, max_broadcast_inputs>& shapes, int inputs) {
  std::array<Strides, max_broadcast_inputs> all{};
  for (int k = 0; k < inputs; ++k) all[index(k)] = aligned_strides(out, shapes[index(k)]);
  for (int axis = 0; axis < out.rank(); ++axis) {
    const std::int64_t extent = out[axis];
    if (extent == 1) continue;
    bool joins = rank_ > 0;
    for (int k = 0; k < inputs && joins; ++k) {
      joins = strides_[index(k)][last()] == all[index(k)][index(axis)] * extent;
    }
    if (!joins) {
      ++rank_;
      extents_[last()] = 1;
    }
    extents_[last()] *= extent;
    for (int k = 0; k < inputs; ++k) strides_[index(k)][last()] = all[index(k)][index(axis)];
  }
}

}  // namespace asyncgrad::detail
