#include "asyncgrad/autograd/reduce.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/broadcast.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/autograd/reductions.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

Axes::Axes(std::initializer_list<int> axes) {
  if (axes.size() > axes_.size()) throw_error("axes", fmt::format("{} axes; a tensor has at most six", axes.size()));
  for (const int axis : axes) axes_[static_cast<std::size_t>(count_++)] = axis;
}

namespace {

AxisMask mask_of(const char* operation, const Shape& shape, const Axes& axes) {
  AxisMask mask = 0;
  for (const int axis : axes) {
    const AxisMask bit = AxisMask{1} << checked_axis(operation, shape, axis);
    if ((mask & bit) != 0) throw_error(operation, fmt::format("axis {} of {} is named twice", axis, shape.str()));
    mask |= bit;
  }
  return mask;
}

AxisMask all_axes(const Shape& shape) { return (AxisMask{1} << shape.rank()) - 1; }

Shape reduced(const Shape& shape, AxisMask axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((axes >> axis & 1U) == 0) {
      result.append(shape[axis]);
    } else if (keep_dims) {
      result.append(1);
    }
  }
  return result;
}

std::int64_t count_over(const Shape& shape, AxisMask axes) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) count *= (axes >> axis & 1U) != 0 ? shape[axis] : 1;
  return count;
}

// scale times the sum over `axes`. The gradient is scale * dy, repeated along them.
Tensor scaled_sum(const char* operation, const Arg& x, AxisMask axes, bool keep_dims, double scale) {
  const Shape& shape = x->shape();
  Tensor y = sum_over(x, axes, reduced(shape, axes, keep_dims), scale, x.where());
  if (records(x)) {
    record(operation, x.where(), y, {x},
           [scale, kept = reduced(shape, axes, true)](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return expand(make_view(dy, kept), gradients.shape(0), scale, Location()); });
           });
  }
  return y;
}

Tensor scaled_mean(const Arg& x, AxisMask axes, bool keep_dims) {
  check_floating("mean", {"x", *x->impl()});
  return scaled_sum("mean", x, axes, keep_dims, 1.0 / static_cast<double>(count_over(x->shape(), axes)));
}

// The axis of max and argmax, for the kernel, and the shape of the result.
struct Reduction {
  ReduceAttributes attributes;
  Shape shape;
};
Reduction along(const char* operation, const Arg& x, int axis, bool keep_dims) {
  const Shape& shape = checked_operand(x, operation).shape;
  const int reduced_axis = checked_axis(operation, shape, axis);
  if (shape[reduced_axis] == 0) throw_error(operation, fmt::format("axis {} of {} has no elements", axis, shape.str()));
  return {around(shape, reduced_axis), reduced(shape, AxisMask{1} << reduced_axis, keep_dims)};
}

}  // namespace

Tensor sum(const Arg& x) { return scaled_sum("sum", x, all_axes(checked_operand(x, "sum").shape), false, 1); }
Tensor mean(const Arg& x) { return scaled_mean(x, all_axes(checked_operand(x, "mean").shape), false); }
Tensor sum(const Arg& x, const Axes& axes, bool keep_dims) {
  return scaled_sum("sum", x, mask_of("sum", checked_operand(x, "sum").shape, axes), keep_dims, 1);
}
Tensor mean(const Arg& x, const Axes& axes, bool keep_dims) {
  return scaled_mean(x, mask_of("mean", checked_operand(x, "mean").shape, axes), keep_dims);
}

Tensor max(const Arg& x, int axis, bool keep_dims) {
  const Reduction reduction = along("max", x, axis, keep_dims);
  Tensor y = make_tensor(reduction.shape, x->dtype(), x->device());
  submit(Op::max, {writes(y), reads(x)}, reduction.attributes, x.where());
  if (!records(x)) return y;
  record("max", x.where(), y, {x},
         [attributes = reduction.attributes, x = SavedTensor(x), y = SavedTensor(y)](const Tensor& dy,
                                                                                     Gradients& gradients) {
           gradients(0, [&] {
             Tensor dx = make_tensor(gradients.shape(0), dy.dtype(), dy.device());
             submit(Op::max_grad, {writes(dx), reads(gradients.read(x)), reads(gradients.read(y)), reads(dy)},
                    attributes, Location());
             return dx;
           });
         });
  return y;
}

Tensor argmax(const Arg& x, int axis, bool keep_dims) {
  const Reduction reduction = along("argmax", x, axis, keep_dims);
  Tensor y = make_tensor(reduction.shape, DType::int64, x->device());
  submit(Op::argmax, {writes(y), reads(x)}, reduction.attributes, x.where());
  return y;
}

Tensor reduce_add(const std::vector<Tensor>& inputs, Device device, Location where) {
  if (inputs.empty()) throw_error("reduce_add", "there are no tensors to add");
  const NamedOperand first{"first", checked_operand(inputs.front(), "reduce_add")};
  for (const Tensor& input : inputs) {
    const NamedOperand operands[] = {first, {"another", checked_operand(input, "reduce_add")}};
    check_types("reduce_add", operands);
    if (input.shape() != first.impl.shape) {
      throw_error("reduce_add", fmt::format("shapes differ: {}", shapes_str(operands)));
    }
  }
  Tensor total = inputs.front().to(device, where);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Tensor next = inputs[i].to(device, where);
    total = Arg(total, where.file, where.line) + next;
  }
  return total.impl() == inputs.front().impl() ? total.clone(where) : total;  // the result is never an input itself
}

}  // namespace asyncgrad
