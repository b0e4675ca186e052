#include "asyncgrad/autograd/forms/reductions.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

bool is_in(AxisMask axes, int axis) { return axis >= 0 && (axes >> axis & 1U) != 0; }

// A range [begin, end) of adjacent axes, which one operation sums: the last range in `axes`, or an empty one.
struct AxisGroup {
  int begin, end;
};
AxisGroup last_group(const Shape& shape, AxisMask axes) {
  int end = shape.rank();
  while (end > 0 && !is_in(axes, end - 1)) --end;
  int begin = end;
  while (is_in(axes, begin - 1)) --begin;
  return {begin, end};
}

}  // namespace

int checked_new_axis(const char* operation, const Shape& shape, int axis) {
  const int rank = shape.rank() + 1, place = axis < 0 ? axis + rank : axis;
  if (place < 0 || place >= rank)
    throw_error(operation,
                fmt::format("{} cannot get an axis {}; it may be {} to {}", shape.str(), axis, -rank, rank - 1),
                ErrorKind::index);
  return place;
}

Shape with_axis(const Shape& shape, int place, std::int64_t extent) {
  Shape result;
  for (int i = 0; i <= shape.rank(); ++i) result.append(i == place ? extent : shape[i < place ? i : i - 1]);
  return result;
}

ReduceAttributes around(const Shape& shape, int axis) {
  return {.outer = shape.numel(0, axis), .axis = shape[axis], .inner = shape.numel(axis + 1, shape.rank())};
}

bool are_adjacent(AxisMask axes) {
  const AxisMask first = axes & (~axes + 1);
  return axes != 0 && ((axes + first) & axes) == 0;
}

ReduceAttributes around_last_group(const Shape& shape, AxisMask axes) {
  const AxisGroup group = last_group(shape, axes);
  const std::int64_t axis = shape.numel(group.begin, group.end);
  if (axis == 1) return {.inner = shape.numel()};
  return {.outer = shape.numel(0, group.begin), .axis = axis, .inner = shape.numel(group.end, shape.rank())};
}

int add_axis(const char* operation, const Shape& shape, int axis, AxisMask& axes) {
  const int from_front = checked_axis(operation, shape, axis);
  if (is_in(axes, from_front)) throw_error(operation, fmt::format("axis {} of {} is named twice", axis, shape.str()));
  axes |= AxisMask{1} << from_front;
  return from_front;
}

AxisMask mask_of(const char* operation, const Shape& shape, const Axes& axes) {
  AxisMask mask = 0;
  for (const int axis : axes) add_axis(operation, shape, axis, mask);
  return mask;
}

Shape reduced(const Shape& shape, AxisMask axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!is_in(axes, axis)) {
      result.append(shape[axis]);
    } else if (keep_dims) {
      result.append(1);
    }
  }
  return result;
}

std::int64_t count_over(const Shape& shape, AxisMask axes) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) count *= is_in(axes, axis) ? shape[axis] : 1;
  return count;
}

void check_elements(const char* operation, const Shape& shape, AxisMask axes) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!is_in(axes, axis) || shape[axis] != 0) continue;
    throw_error(operation, fmt::format("axis {} of {} has no elements", axis, shape.str()));
  }
}

namespace {

// Reduces the blocks of lines, and leaves the attributes of the operation that reduces the results.
Tensor reduce_blocks(Op parts_of, const Tensor& x, ReduceAttributes& attributes, Location where) {
  const std::int64_t blocks = divided_up(attributes.axis, line_block(attributes));
  Tensor parts = make_tensor({attributes.outer, blocks, attributes.inner},
                             x.dtype() == DType::int64 ? DType::int64 : DType::float64, x.device());
  submit(parts_of, {writes(parts), reads(x)}, attributes, where);
  attributes.axis = blocks;
  attributes.of_squares = false;
  return parts;
}

struct OpInParts {
  Op of_blocks, of_parts;
};
std::optional<OpInParts> op_in_parts(Op op) {
  if (op == Op::sum) return OpInParts{Op::sum_parts, Op::sum_of_parts};
  if (op == Op::prod) return OpInParts{Op::prod_parts, Op::prod_of_parts};
  return std::nullopt;
}

// Squares are those of x itself, so that only the first operation takes them.
Tensor reduce_in_groups(Op op, const Tensor& x, AxisMask axes, const Shape& shape, DType dtype, double scale,
                        bool of_squares, Location where) {
  Tensor partial = x;
  // Innermost groups come first: they are read in the order of memory, and leave less for the others to read.
  for (;;) {
    const Shape& from = partial.shape();
    const AxisGroup group = last_group(from, axes);
    ReduceAttributes attributes = around_last_group(from, axes);
    axes &= (AxisMask{1} << group.begin) - 1;
    attributes.scale = axes == 0 ? scale : 1;
    attributes.of_squares = std::exchange(of_squares, false);
    Shape to = from;
    for (int axis = group.begin; axis < group.end; ++axis) to = to.with(axis, 1);
    Tensor out = make_tensor(axes == 0 ? shape : to, dtype, x.device());
    const auto parts = op_in_parts(op);
    const bool in_parts =
        parts && partial.dtype() != boolean && are_few_long_lines(attributes) && has_kernel(parts->of_blocks, partial);
    if (in_parts) partial = reduce_blocks(parts->of_blocks, partial, attributes, where);
    submit(in_parts ? parts->of_parts : op, {writes(out), reads(partial)}, attributes, where);
    if (axes == 0) return out;
    partial = out;
  }
}

}  // namespace

Tensor reduce_over(Op op, const Tensor& x, AxisMask axes, const Shape& shape, double scale, Location where) {
  return reduce_in_groups(op, x, axes, shape, x.dtype(), scale, false, where);
}
Tensor sum_of_booleans(const Tensor& x, AxisMask axes, const Shape& shape, DType dtype, double scale, Location where) {
  return reduce_in_groups(Op::sum, x, axes, shape, dtype, scale, false, where);
}
Tensor sum_of_squares(const Tensor& x, AxisMask axes, const Shape& shape, Location where) {
  return reduce_in_groups(Op::sum, x, axes, shape, x.dtype(), 1, true, where);
}

}  // namespace asyncgrad::detail
