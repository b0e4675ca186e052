#include "asyncgrad/autograd/forms/broadcast.h"

#include <algorithm>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

// The extent of the axis that is `from_end` axes before the last one; 1 if there is no such axis.
std::int64_t extent_from_end(const Shape& shape, int from_end) {
  return from_end < shape.rank() ? shape[shape.rank() - 1 - from_end] : 1;
}

}  // namespace

bool broadcast_into(Shape& shape, const Shape& other) {
  if (shape == other) return true;
  Shape result;
  for (int axis = std::max(shape.rank(), other.rank()) - 1; axis >= 0; --axis) {
    const std::int64_t a = extent_from_end(shape, axis), b = extent_from_end(other, axis);
    if (a != b && a != 1 && b != 1) return false;
    result.append(a == 1 ? b : a);
  }
  shape = result;
  return true;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  AxisMask repeated = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int from_end = x.rank() - 1 - axis;
    if (x.size(axis) != extent_from_end(shape, from_end)) repeated |= AxisMask{1} << axis;
  }
  // If x only has more axes of extent 1, there is nothing to add.
  return repeated == 0 ? with_shape(x, shape) : recorded_sum("sum", x, repeated, shape, 1, Location());
}

Tensor recorded_sum(const char* operation, const Tensor& x, AxisMask axes, const Shape& shape, double scale,
                    Location where) {
  if (x.dtype() == bfloat16) {
    return recorded_sum(operation, x.to(float32, where), axes, shape, scale, where).to(bfloat16, where);
  }
  Tensor y = sum_over(x, axes, shape, scale, where);
  if (records(x)) {
    record(Recorded(Op::sum).as(operation), where, y, {x},
           differentiable([scale, kept = reduced(x.shape(), axes, true)](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return expand(with_shape(dy, kept), gradients.shape(0), scale, Location()); });
           }));
  }
  return y;
}

Tensor expand(const Tensor& x, const Shape& shape, double scale, Location where) {
  Tensor out = make_like(x, shape);
  ElementwiseAttributes attributes{.formula = formulas::id<formulas::Multiply>(), .scalar_mask = 0b10};
  attributes.scalars[1].floating = scale;
  submit(Op::elementwise, {writes(out), reads(x)}, attributes, where);
  if (records(x)) {
    record(Recorded(Op::elementwise).as("expand"), where, out, {x},
           differentiable([scale](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return sum_to(scale == 1 ? dy : dy * scale, gradients.shape(0)); });
           }));
  }
  return out;
}

}  // namespace asyncgrad::detail
