#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad {

using namespace detail;

namespace {

Tensor summed_up(const Tensor& x, CumsumAttributes attributes, Location where) {
  Tensor y = make_like(x, x.shape());
  submit(Op::cumsum, {writes(y), reads(x)}, attributes, where);
  if (!records(x)) return y;
  attributes.from_end = !attributes.from_end;  // an element is a part of all sums from its own on
  record(Op::cumsum, where, y, {x}, differentiable([attributes](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return summed_up(dy, attributes, Location()); });
         }));
  return y;
}

}  // namespace

Tensor cumsum(const Arg& x, int axis) {
  const TensorImpl& impl = checked_operand(x, "cumsum");
  if (impl.dtype == DType::boolean) return cumsum(Arg(x->to(int64, x.where()), x.where()), axis);
  check_dtype(Op::cumsum, "cumsum", {"x", impl});
  const Shape& shape = impl.shape;
  const AxisMask along = AxisMask{1} << checked_axis("cumsum", shape, axis);
  const ReduceAttributes lines = around_last_group(shape, along);
  return summed_up(x, {.outer = lines.outer, .axis = lines.axis, .inner = lines.inner}, x.where());
}

}  // namespace asyncgrad
