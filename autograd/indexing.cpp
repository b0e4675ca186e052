#include "asyncgrad/autograd/indexing.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The gradient of take(x, indices) in x: each row of dy is added to the row that it was taken from.
Tensor take_grad(const Tensor& dy, const Tensor& indices, const Shape& shape) {
  Tensor dx = make_tensor(shape, dy.dtype(), dy.device());
  submit(Op::fill, {writes(dx)}, FillAttributes{{.floating = 0}}, Location());
  submit(Op::take_grad, {finishes(dx), reads(indices), reads(dy)}, NoAttributes{}, Location());
  return dx;
}

}  // namespace

Tensor take(const Arg& x, const Arg& indices) {
  const TensorImpl &values = checked_operand(x, "take"), &rows = checked_operand(indices, "take");
  check_devices("take", {{"x", values}, {"indices", rows}});
  check_indices("take", {"indices", rows});
  if (values.shape.rank() == 0) throw_error("take", "x is a scalar and has no rows");
  Tensor y = make_tensor(values.shape.with(0, rows.shape[0]), values.dtype, values.device);
  submit(Op::take, {writes(y), reads(x), reads(indices)}, NoAttributes{}, x.where());
  if (records(x)) {
    record("take", x.where(), y, {x}, [indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
      gradients(0, [&] { return take_grad(dy, gradients.read(indices), gradients.shape(0)); });
    });
  }
  return y;
}

}  // namespace asyncgrad
