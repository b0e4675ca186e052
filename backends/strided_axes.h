// The axes along which a strided copy goes, for every backend. Internal.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// An axis, and how far apart its elements lie in both tensors.
struct StridedAxis {
  std::int64_t extent = 1, out = 0, in = 0;
};

// Some axes, outermost first. A GPU's kernels take it by value, so that it holds plain arrays.
struct StridedAxes {
  StridedAxis axes[Shape::max_rank];
  int count = 0;

  StridedAxis take(int index) {
    const StridedAxis taken = axes[index];
    for (--count; index < count; ++index) axes[index] = axes[index + 1];
    return taken;
  }
  // The axis with the shortest stride. There is one at least.
  int shortest(std::int64_t StridedAxis::*stride) const {
    int best = 0;
    for (int i = 1; i < count; ++i) {
      if (std::abs(axes[i].*stride) <= std::abs(axes[best].*stride)) best = i;
    }
    return best;
  }
};

// The axes of the operation's whole tensor. Axes that are neighbours in both tensors are joined.
inline StridedAxes joined_axes(const KernelCall& call) {
  const auto& attributes = call.attributes<StridedCopyAttributes>();
  const Shape& shape = call.shape(attributes.into ? 1 : 0);
  StridedAxes all;
  std::int64_t stride = shape.numel();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    stride /= shape[i];
    StridedAxis axis{shape[i], stride, attributes.strides[static_cast<std::size_t>(i)]};
    if (attributes.into) std::swap(axis.out, axis.in);
    if (all.count > 0) {
      const StridedAxis& last = all.axes[all.count - 1];
      if (last.in == axis.in * axis.extent && last.out == axis.out * axis.extent) {
        axis.extent *= all.take(all.count - 1).extent;
      }
    }
    all.axes[all.count++] = axis;
  }
  return all;
}

// out = in, or out += in.
template <bool adds, class T>
constexpr void put(T& out, T in) {
  if constexpr (adds) {
    out = static_cast<T>(out + in);
  } else {
    out = in;
  }
}

}  // namespace asyncgrad::detail
