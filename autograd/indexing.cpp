#include "asyncgrad/autograd/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "asyncgrad/autograd/apply.h"
#include "asyncgrad/autograd/broadcast.h"
#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/autograd/reductions.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// `shape` seen as three axes, of which `axis` is the middle one.
IndexAttributes seen_along(const Shape& shape, int axis) {
  const ReduceAttributes seen = around(shape, axis);
  return {seen.outer, seen.axis, seen.inner};
}

// x's shape with those of the indices in place of the axis.
Shape taken_shape(const Shape& x, const Shape& indices, int axis) {
  if (x.rank() - 1 + indices.rank() > Shape::max_rank) {
    throw_error("take", fmt::format("the result would have more than {} axes: x {}, indices {}", Shape::max_rank,
                                    x.str(), indices.str()));
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.append(x[i]);
  for (const std::int64_t extent : indices) shape.append(extent);
  for (int i = axis + 1; i < x.rank(); ++i) shape.append(x[i]);
  return shape;
}

void check_is_index(const char* operation, NamedOperand operand) {
  if (operand.impl.dtype == DType::int64) return;
  throw_error(operation, fmt::format("{} must be int64: {} {} {}", operand.name, operand.name, name(operand.impl.dtype),
                                     operand.impl.shape.str()));
}

// Throws Error unless the shapes agree but for `axis`.
void check_along(const char* operation, NamedOperand x, NamedOperand indices, int axis) {
  const Shape &xs = x.impl.shape, &is = indices.impl.shape;
  if (xs.rank() == is.rank() && is.with(axis, xs[axis]) == xs) return;
  const NamedOperand operands[] = {x, indices};
  throw_error(operation, fmt::format("shapes differ beside axis {}: {}", axis, shapes_str(operands)));
}

// out[…, indices, …] += source.
void add_at(const Tensor& out, const Tensor& indices, const Tensor& source, const IndexAttributes& seen,
            Location where) {
  submit(Op::scatter_add, {finishes(out), reads(indices), reads(source)}, seen, where);
}

Tensor gathered(const Tensor& x, const Tensor& indices, const IndexAttributes& seen, Location where) {
  Tensor y = make_tensor(indices.shape(), x.dtype(), x.device());
  submit(Op::gather, {writes(y), reads(x), reads(indices)}, seen, where);
  return y;
}

Tensor triangle(const char* operation, const Arg& x, std::int64_t diagonal, bool is_upper) {
  const TensorImpl& impl = checked_operand(x, operation);
  if (impl.shape.rank() < 2) throw_error(operation, fmt::format("{} is no matrix", impl.shape.str()));
  const std::int64_t limited = std::clamp(diagonal, -impl.shape[-2], impl.shape[-1]);
  const TriangleAttributes attributes{.diagonal = limited, .is_upper = is_upper};
  const auto triangle_of = [attributes](const Tensor& in, Location where) {
    Tensor out = make_tensor(in.shape(), in.dtype(), in.device());
    submit(Op::triangle, {writes(out), reads(in)}, attributes, where);
    return out;
  };
  Tensor y = triangle_of(x, x.where());
  if (records(x)) {
    record(operation, x.where(), y, {x}, [triangle_of](const Tensor& dy, Gradients& gradients) {
      gradients(0, [&] { return triangle_of(dy, Location()); });
    });
  }
  return y;
}

}  // namespace

Tensor take(const Arg& x, const Arg& indices, int axis) {
  const TensorImpl &values = checked_operand(x, "take"), &places = checked_operand(indices, "take");
  check_devices("take", {{"x", values}, {"indices", places}});
  check_is_index("take", {"indices", places});
  if (values.shape.rank() == 0) throw_error("take", "x is a scalar and has no rows");
  const int along = checked_axis("take", values.shape, axis);
  const IndexAttributes seen = seen_along(values.shape, along);
  Tensor y = make_tensor(taken_shape(values.shape, places.shape, along), values.dtype, values.device);
  submit(Op::take, {writes(y), reads(x), reads(indices)}, seen, x.where());
  if (records(x)) {
    record("take", x.where(), y, {x}, [seen, indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
      gradients.add_to(0, dy, [&](const Tensor& dx) {
        submit(Op::take_grad, {finishes(dx), reads(gradients.read(indices)), reads(dy)}, seen, Location());
      });
    });
  }
  return y;
}

Tensor gather(const Arg& x, const Arg& indices, int axis) {
  const NamedOperand values{"x", checked_operand(x, "gather")}, places{"indices", checked_operand(indices, "gather")};
  check_devices("gather", {values, places});
  check_is_index("gather", places);
  const int along = checked_axis("gather", values.impl.shape, axis);
  check_along("gather", values, places, along);
  const IndexAttributes seen = seen_along(values.impl.shape, along);
  Tensor y = gathered(x, indices, seen, x.where());
  if (records(x)) {
    record("gather", x.where(), y, {x}, [seen, indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
      gradients.add_to(0, dy, [&](const Tensor& dx) { add_at(dx, gradients.read(indices), dy, seen, Location()); });
    });
  }
  return y;
}

Tensor scatter_add(const Arg& x, const Arg& indices, const Arg& source, int axis) {
  const NamedOperand to{"x", checked_operand(x, "scatter_add")},
      places{"indices", checked_operand(indices, "scatter_add")},
      from{"source", checked_operand(source, "scatter_add")};
  check_devices("scatter_add", {to, places, from});
  check_alike("scatter_add", {to, from});
  check_is_index("scatter_add", places);
  const int along = checked_axis("scatter_add", to.impl.shape, axis);
  check_along("scatter_add", to, places, along);
  if (from.impl.shape != places.impl.shape) {
    const NamedOperand operands[] = {places, from};
    throw_error("scatter_add", fmt::format("each source needs an index: {}", shapes_str(operands)));
  }
  const IndexAttributes seen = seen_along(to.impl.shape, along);
  Tensor y = x->detach().clone(x.where());
  add_at(y, indices, source, seen, x.where());
  if (records(x, source)) {
    record("scatter_add", x.where(), y, {x, source},
           [seen, indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return dy; });
             gradients(1, [&] { return gathered(dy, gradients.read(indices), seen, Location()); });
           });
  }
  return y;
}

Tensor one_hot(const Arg& indices, std::int64_t classes, DType dtype) {
  const TensorImpl& places = checked_operand(indices, "one_hot");
  check_is_index("one_hot", {"indices", places});
  if (classes < 1) throw_error("one_hot", fmt::format("{} classes for indices {}", classes, places.shape.str()));
  Shape shape = places.shape;
  shape.append(classes);
  Tensor y = make_tensor(shape, dtype, places.device);
  submit(Op::one_hot, {writes(y), reads(indices)}, NoAttributes{}, indices.where());
  return y;
}

Tensor masked_fill(const Arg& x, const Arg& mask, const Scalar& value) {
  const NamedOperand values{"x", checked_operand(x, "masked_fill")},
      where{"mask", checked_operand(mask, "masked_fill")};
  check_alike("masked_fill", {values, where});
  Shape shape = values.impl.shape;
  if (!broadcast_into(shape, where.impl.shape) || shape != values.impl.shape) {
    const NamedOperand operands[] = {values, where};
    throw_error("masked_fill", fmt::format("the mask cannot be repeated to x's shape: {}", shapes_str(operands)));
  }
  const std::array<Input, 3> inputs = {mask, number_in(values.impl.dtype, value, "masked_fill"), x};
  return apply(formulas::id<formulas::Where>(), inputs, x.where());
}

Tensor tril(const Arg& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, false); }
Tensor triu(const Arg& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, true); }

}  // namespace asyncgrad
