// max, min, argmax and argmin.
#include <array>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The gradient in x of its extreme y. Both y and dy have x's axes, with extent 1 where it was reduced. Recorded: dx
// depends on dy, and not on x but where it is not differentiable.
Tensor shared_evenly(const Tensor& x, const Tensor& y, const Tensor& dy, AxisMask axes) {
  const Location nowhere;
  if (are_adjacent(axes) && !grad_enabled()) {
    Tensor dx = make_like(x, x.shape());
    submit(Op::max_grad, {writes(dx), reads(x), reads(y), reads(dy)}, around_last_group(x.shape(), axes), nowhere);
    return dx;
  }
  const Tensor same = apply(formulas::id<formulas::Same>(), std::array<Input, 2>{x, y}, nowhere);
  const Tensor count = sum_over(same, axes, y.shape(), 1, nowhere);
  const Tensor share = apply(formulas::id<formulas::Divide>(), std::array<Input, 2>{dy, count}, nowhere);
  return apply(formulas::id<formulas::SelectNonzero>(), std::array<Input, 2>{same, share}, nowhere);
}

Tensor extreme(Recorded which, const Arg& x, AxisMask axes, bool keep_dims) {
  const Op op = which.op;
  const char* const operation = which.name;
  const Shape& shape = x->shape();
  check_dtype(op, operation, {"x", *x->impl()});
  check_elements(operation, shape, axes);
  Tensor y = reduce_over(op, x, axes, reduced(shape, axes, keep_dims), 1, x.where());
  if (!records(x)) return y;
  record(which, x.where(), y, {x},
         differentiable([axes, kept = reduced(shape, axes, true), x = SavedTensor(x), y = SavedTensor(y)](
                            const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] {
             return shared_evenly(gradients.read(x), make_view(gradients.read(y), kept), with_shape(dy, kept), axes);
           });
         }));
  return y;
}
Tensor extreme(Recorded which, const Arg& x) {
  return extreme(which, x, all_axes(checked_operand(x, which.name).shape), false);
}
Tensor extreme(Recorded which, const Arg& x, const Axes& axes, bool keep_dims) {
  return extreme(which, x, mask_of(which.name, checked_operand(x, which.name).shape, axes), keep_dims);
}

Tensor place(const char* operation, Op op, const Arg& x, const ReduceAttributes& attributes, const Shape& shape) {
  check_dtype(op, operation, {"x", *x->impl()});
  if (attributes.axis == 1) return zeros(shape, {.dtype = int64, .device = x->device()}, x.where());
  Tensor y = make_tensor(shape, DType::int64, x->device());
  submit(op, {writes(y), reads(x)}, attributes, x.where());
  return y;
}
Tensor place(const char* operation, Op op, const Arg& x) {
  const Shape& shape = checked_operand(x, operation).shape;
  check_elements(operation, shape, all_axes(shape));
  return place(operation, op, x, {.axis = shape.numel()}, Shape());
}
Tensor place(const char* operation, Op op, const Arg& x, int axis, bool keep_dims) {
  const Shape& shape = checked_operand(x, operation).shape;
  const int from_front = checked_axis(operation, shape, axis);
  const AxisMask mask = AxisMask{1} << from_front;
  check_elements(operation, shape, mask);
  return place(operation, op, x, around_last_group(shape, mask), reduced(shape, mask, keep_dims));
}

}  // namespace

Tensor max(const Arg& x) { return extreme(Op::max, x); }
Tensor max(const Arg& x, const Axes& axes, bool keep_dims) { return extreme(Op::max, x, axes, keep_dims); }
Tensor min(const Arg& x) { return extreme(Op::min, x); }
Tensor min(const Arg& x, const Axes& axes, bool keep_dims) { return extreme(Op::min, x, axes, keep_dims); }

Tensor argmax(const Arg& x) { return place("argmax", Op::argmax, x); }
Tensor argmax(const Arg& x, int axis, bool keep_dims) { return place("argmax", Op::argmax, x, axis, keep_dims); }
Tensor argmin(const Arg& x) { return place("argmin", Op::argmin, x); }
Tensor argmin(const Arg& x, int axis, bool keep_dims) { return place("argmin", Op::argmin, x, axis, keep_dims); }

}  // namespace asyncgrad
