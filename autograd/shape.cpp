#include "asyncgrad/autograd/shape.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/autograd/reductions.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

using namespace detail;

// A view that is marked as one, for checked_operand and check_writable.
Tensor marked_view(const Tensor& base, const Shape& shape, std::int64_t offset) {
  Tensor view = make_view(base, shape, offset);
  view.impl()->is_view = true;
  view.impl()->view_version = base.impl()->storage->version;
  return view;
}

// The gradient of a slice in x: dy at its offset, zeros around it.
Tensor slice_grad(const Tensor& dy, const Shape& shape, std::int64_t offset) {
  Tensor dx = make_tensor(shape, dy.dtype(), dy.device());
  submit(Op::fill, {writes(dx)}, FillAttributes{{.floating = 0}}, Location());
  if (dy.numel() > 0)
    submit(Op::copy, {finishes(make_view(dx, dy.shape(), offset)), reads(dy)}, NoAttributes{}, Location());
  return dx;
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape, Location where) const {
  const TensorImpl& impl = checked_operand(*this, "reshape");
  if (shape.numel() != impl.shape.numel()) {
    throw_error("reshape", fmt::format("{} has {} elements, {} would have {}", impl.shape.str(), impl.shape.numel(),
                                       shape.str(), shape.numel()));
  }
  Tensor y = marked_view(*this, shape, 0);
  if (records(*this)) {
    record("reshape", where, y, {*this}, [](const Tensor& dy, Gradients& gradients) {
      gradients(0, [&] { return make_view(dy, gradients.shape(0)); });
    });
  }
  return y;
}

Tensor Tensor::transpose(int axis_a, int axis_b, Location where) const {
  const TensorImpl& impl = checked_operand(*this, "transpose");
  const int rank = impl.shape.rank();
  const int a = checked_axis("transpose", impl.shape, axis_a), b = checked_axis("transpose", impl.shape, axis_b);
  TransposeAttributes attributes;
  for (int i = 0; i < rank; ++i) attributes.axes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i);
  std::swap(attributes.axes[static_cast<std::size_t>(a)], attributes.axes[static_cast<std::size_t>(b)]);
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.append(impl.shape[attributes.axes[static_cast<std::size_t>(i)]]);

  Tensor y = make_tensor(shape, impl.dtype, impl.device);
  submit(Op::transpose, {writes(y), reads(*this)}, attributes, where);
  if (records(*this)) {
    record("transpose", where, y, {*this},
           [a, b](const Tensor& dy, Gradients& gradients) { gradients(0, [&] { return dy.transpose(a, b); }); });
  }
  return y;
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end, Location where) const {
  const TensorImpl& impl = checked_operand(*this, "slice");
  if (impl.shape.rank() == 0) throw_error("slice", "a scalar has no rows");
  const std::int64_t rows = impl.shape[0];
  if (begin < 0 || begin > end || end > rows) {
    throw_error("slice", fmt::format("no rows {} to {} in {}", begin, end, impl.shape.str()));
  }
  const std::int64_t offset = rows == 0 ? 0 : begin * (impl.shape.numel() / rows);
  Tensor y = marked_view(*this, impl.shape.with(0, end - begin), offset);
  if (records(*this)) {
    record("slice", where, y, {*this}, [offset](const Tensor& dy, Gradients& gradients) {
      gradients(0, [&] { return slice_grad(dy, gradients.shape(0), offset); });
    });
  }
  return y;
}

Tensor reshape(const Arg& x, const Shape& shape) { return x->reshape(shape, x.where()); }
Tensor transpose(const Arg& x, int axis_a, int axis_b) { return x->transpose(axis_a, axis_b, x.where()); }
Tensor slice(const Arg& x, std::int64_t begin, std::int64_t end) { return x->slice(begin, end, x.where()); }

}  // namespace asyncgrad
