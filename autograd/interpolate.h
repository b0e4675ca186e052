// Planes in another size.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

enum class Interpolation : std::uint8_t { nearest, bilinear };
struct InterpolateOptions {
  Interpolation mode = Interpolation::nearest;
  // bilinear: whether the centres of the corner elements stay in place; else their outer edges do
  bool align_corners = false;
};
// Planes of another size: x (N, C, H, W) -> (N, C, size). An element of the result at place i along an axis of `out`
// elements lies at s = (i + 1/2) H / out - 1/2 of x, or at i (H - 1) / (out - 1) with align_corners; nearest takes the
// element floor(i H / out), bilinear the mean of the two around s, weighted by their distance, along both axes. (As
// torch.nn.functional.interpolate.) Differentiable, any number of times. Queued; may wait for room. Throws Error at the
// call for int64, for shapes that do not fit, for a size below 1, for planes without elements, and for align_corners with
// nearest.
Tensor interpolate(const Arg& x, Size2d size, const InterpolateOptions& options = {});

}  // namespace asyncgrad
