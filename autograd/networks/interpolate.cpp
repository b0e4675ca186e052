// Planes of another size. Each axis is a selection of rows, or a weighted mean of two selections.
#include <algorithm>
#include <array>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/interpolate.h"
#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/autograd/tape/operands.h"

namespace asyncgrad {

using namespace detail;

namespace {

// 0, 1, ... of the new axis. The places that follow from them are computed by operations, too, so that an axis of any
// length is refused where its memory is.
Tensor numbered(const Tensor& x, std::int64_t out, DType dtype, Location where) {
  return arange(0, out, 1, {.dtype = dtype, .device = x.device()}, where);
}

Tensor nearest(const Tensor& x, int axis, std::int64_t out, Location where) {
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Tensor scaled = at(numbered(x, out, int64, where)) * x.shape()[axis];
  return take(at(x), at(floor_divide(at(scaled), out)), axis);
}

// The places in the input, which have two neighbours there.
Tensor sources(const Tensor& x, int axis, std::int64_t out, bool align_corners, Location where) {
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Tensor i = numbered(x, out, float64, where);
  const auto before = static_cast<double>(x.shape()[axis]), after = static_cast<double>(out);
  if (align_corners) return at(at(i) * (before - 1)) / std::max(after - 1, 1.0);
  return maximum(at(at(at(at(i) + 0.5) * (before / after)) - 0.5), 0.0);
}

Tensor linear(const Tensor& x, int axis, std::int64_t out, bool align_corners, Location where) {
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const std::int64_t last = x.shape()[axis] - 1;
  const Tensor source = sources(x, axis, out, align_corners, where);
  const Tensor below = minimum(at(to(at(floor(at(source))), int64)), last);
  const Tensor above = minimum(at(at(below) + std::int64_t{1}), last);
  Shape along;  // so that the shares are broadcast along the axis
  for (int i = axis; i < x.rank(); ++i) along.append(i == axis ? out : 1);
  const Tensor distance = at(source) - at(to(at(below), float64));
  const Tensor share = to(at(reshape(at(distance), along)), x.dtype());
  const Tensor low = take(at(x), at(below), axis), high = take(at(x), at(above), axis);
  return apply(formulas::id<formulas::Lerp>(), std::array<Input, 3>{low, high, share}, where);
}

}  // namespace

Tensor interpolate(const Arg& x, Size2d size, const InterpolateOptions& options) {
  const NamedOperand in{"x", checked_operand(x, "interpolate")};
  check_dtype(Op::conv, "interpolate", in);
  const Shape& shape = in.impl.shape;
  check_planes("interpolate", shape);
  check_option("interpolate", "size", size, 1);
  check_options("interpolate", options);
  const bool is_nearest = options.mode == Interpolation::nearest;
  const Location where = x.where();
  Tensor y = x.tensor();
  for (const auto& [axis, extent] : {std::pair(2, size.height), std::pair(3, size.width)}) {
    if (extent == shape[axis]) continue;
    y = is_nearest ? nearest(y, axis, extent, where) : linear(y, axis, extent, options.align_corners, where);
  }
  return y;
}

}  // namespace asyncgrad
