#include "asyncgrad/autograd/shape.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// All of x in another shape.
Tensor reshaped(const char* operation, const Tensor& x, const Shape& shape, Location where) {
  Tensor y = marked_view(x, shape, 0);
  if (records(x)) {
    record(operation, where, y, {x}, differentiable([](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return with_shape(dy, gradients.shape(0)); });
           }));
  }
  return y;
}

// Rows [begin, end), counted from the front.
Region rows_of(const Shape& shape, std::int64_t begin, std::int64_t end) {
  return sliced(whole(shape), 0, begin, end, 1);
}

std::array<int, Shape::max_rank> inverse(std::span<const int> axes) {
  std::array<int, Shape::max_rank> result{};
  for (std::size_t i = 0; i < axes.size(); ++i) result[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  return result;
}

// permute or transpose.
Tensor permuted_copy(CopyKind kind, const Tensor& x, std::span<const int> axes, Location where) {
  Tensor y = copy_out(kind, x, permuted(whole(x.shape()), axes), where);
  if (!records(x)) return y;
  record(Recorded(Op::strided_copy).as(kind == CopyKind::permute ? "permute" : "transpose"), where, y, {x},
         differentiable([kind, back = inverse(axes), count = axes.size()](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return permuted_copy(kind, dy, std::span(back.data(), count), Location()); });
         }));
  return y;
}

// The elements in the order of `region`, which is its own inverse.
Tensor flipped_copy(const Tensor& x, const Region& region, Location where) {
  Tensor y = copy_out(CopyKind::flip, x, region, where);
  if (records(x)) {
    record(Recorded(Op::strided_copy).as("flip"), where, y, {x},
           differentiable([region](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return flipped_copy(dy, region, Location()); });
           }));
  }
  return y;
}

// The axes counted from the front. Throws Error unless each exists and is named once.
std::vector<int> checked_axes(const char* operation, const Shape& shape, const Axes& axes) {
  std::vector<int> result;
  AxisMask seen = 0;
  for (const int axis : axes) result.push_back(add_axis(operation, shape, axis, seen));
  return result;
}

}  // namespace

Tensor Tensor::reshape(const NewShape& shape, Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "reshape");
  return reshaped("reshape", *this, shape.of(impl.shape, "reshape"), where);
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end, Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "slice");
  if (impl.shape.rank() == 0) throw_error("slice", "needs x with an axis of rows, got a scalar ()");
  const std::int64_t rows = impl.shape[0];
  const std::int64_t first = begin < 0 ? begin + rows : begin, last = end < 0 ? end + rows : end;
  if (first < 0 || first > last || last > rows) {
    throw_error("slice", fmt::format("no rows {} to {} in {}", begin, end, impl.shape.str()));
  }
  const Region region = rows_of(impl.shape, first, last);
  return shared_part("slice", *this, region, region.shape, where);
}

Tensor Tensor::operator[](const RowIndex& row) const {
  const CallSite site(row.where());
  const TensorImpl& impl = checked_operand(*this, "row");
  if (impl.shape.rank() == 0) throw_error("row", "needs x with an axis of rows, got a scalar ()");
  const std::int64_t rows = impl.shape[0];
  const std::int64_t position = row.position() < 0 ? row.position() + rows : row.position();
  if (position < 0 || position >= rows) {
    throw_error("row", fmt::format("no row {} in {}", row.position(), impl.shape.str()), ErrorKind::index);
  }
  const Region region = rows_of(impl.shape, position, position + 1);
  const Shape shape(std::span(impl.shape.begin() + 1, impl.shape.end()));
  return shared_part("row", *this, region, shape, row.where());
}

Tensor Tensor::transpose(int axis_a, int axis_b, Location where) const {
  const CallSite site(where);
  const TensorImpl& impl = checked_operand(*this, "transpose");
  const int a = checked_axis("transpose", impl.shape, axis_a), b = checked_axis("transpose", impl.shape, axis_b);
  std::array<int, Shape::max_rank> order{};
  for (int i = 0; i < impl.shape.rank(); ++i) order[static_cast<std::size_t>(i)] = i;
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  const std::span axes(order.data(), static_cast<std::size_t>(impl.shape.rank()));
  return permuted_copy(CopyKind::transpose, *this, axes, where);
}

Tensor reshape(const Arg& x, const NewShape& shape) { return x->reshape(shape, x.where()); }
Tensor transpose(const Arg& x, int axis_a, int axis_b) { return x->transpose(axis_a, axis_b, x.where()); }
Tensor slice(const Arg& x, std::int64_t begin, std::int64_t end) { return x->slice(begin, end, x.where()); }

Tensor squeeze(const Arg& x) {
  Shape shape;
  for (const std::int64_t extent : checked_operand(x, "squeeze").shape) {
    if (extent != 1) shape.append(extent);
  }
  return reshaped("squeeze", x, shape, x.where());
}

Tensor squeeze(const Arg& x, const Axes& axes) {
  const Shape& from = checked_operand(x, "squeeze").shape;
  AxisMask dropped = 0;
  for (const int axis : checked_axes("squeeze", from, axes)) {
    if (from[axis] != 1) throw_error("squeeze", fmt::format("axis {} of {} is longer than 1", axis, from.str()));
    dropped |= AxisMask{1} << axis;
  }
  Shape shape;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if ((dropped >> axis & 1U) == 0) shape.append(from[axis]);
  }
  return reshaped("squeeze", x, shape, x.where());
}

Tensor unsqueeze(const Arg& x, int axis) {
  const Shape& from = checked_operand(x, "unsqueeze").shape;
  return reshaped("unsqueeze", x, with_axis(from, checked_new_axis("unsqueeze", from, axis), 1), x.where());
}

Tensor permute(const Arg& x, const Axes& axes) {
  const TensorImpl& impl = checked_operand(x, "permute");
  const std::vector<int> order = checked_axes("permute", impl.shape, axes);
  if (std::cmp_not_equal(order.size(), impl.shape.rank())) {
    throw_error("permute",
                fmt::format("{} axes are named, {} has {}", order.size(), impl.shape.str(), impl.shape.rank()));
  }
  return permuted_copy(CopyKind::permute, x, order, x.where());
}

Tensor slice(const Arg& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const TensorImpl& impl = checked_operand(x, "slice");
  const Slice part{axis, begin, end, step};
  const Region region = region_of("slice", impl.shape, {&part, 1});
  if (step == 1 && checked_axis("slice", impl.shape, axis) == 0) {
    return shared_part("slice", x, region, region.shape, x.where());
  }
  Tensor y = copy_out(CopyKind::slice, x, region, x.where());
  record_part("slice", x, y, region, x.where());
  return y;
}

Tensor flip(const Arg& x, const Axes& axes) {
  Region region = whole(checked_operand(x, "flip").shape);
  for (const int axis : checked_axes("flip", region.shape, axes)) region = flipped(region, axis);
  return flipped_copy(x, region, x.where());
}

}  // namespace asyncgrad
