// The extents of pooling. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/range.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

struct PoolAxis {
  std::int64_t in, out, kernel, stride, padding;

  // The elements of the input under the window of an output.
  constexpr Range window(std::int64_t output) const {
    const std::int64_t first = output * stride - padding;
    return {std::max<std::int64_t>(0, first), std::min(in, first + kernel)};
  }
  // The elements of a window that lie inside of the input for some output.
  constexpr Range elements() const {
    return {std::max<std::int64_t>(0, padding - (out - 1) * stride), std::min(kernel, padding + in)};
  }
  // The outputs for which element k of the window lies inside: it is element output * stride + k - padding of the input.
  constexpr Range outputs(std::int64_t k) const {
    const std::int64_t first = padding - k, last = in - 1 + first;
    const std::int64_t end = last < 0 ? 0 : std::min(out, last / stride + 1);
    return {std::min(end, first <= 0 ? 0 : (first - 1) / stride + 1), end};
  }
};

struct PoolPlane {
  PoolAxis height, width;

  constexpr std::int64_t in() const { return height.in * width.in; }
  constexpr std::int64_t out() const { return height.out * width.out; }
  // What an output of the mean takes of each element. Padding counts as elements that are 0.
  constexpr double share() const {
    return 1 / (static_cast<double>(height.kernel) * static_cast<double>(width.kernel));
  }
};

// The planes of all images and channels.
struct PoolBatch : PoolPlane {
  std::int64_t count;

  PoolBatch(const PoolAttributes& a, const Shape& x, const Shape& y)
      : PoolPlane{{x[2], y[2], a.kernel[0], a.stride[0], a.padding[0]},
                  {x[3], y[3], a.kernel[1], a.stride[1], a.padding[1]}},
        count(x[0] * x[1]) {}
};

}  // namespace asyncgrad::detail
