#include "asyncgrad/autograd/reductions.h"

#include <fmt/format.h>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

bool is_in(AxisMask axes, int axis) { return axis >= 0 && (axes >> axis & 1U) != 0; }

std::int64_t product(const Shape& shape, int begin, int end) {
  std::int64_t result = 1;
  for (int axis = begin; axis < end; ++axis) result *= shape[axis];
  return result;
}

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

int checked_axis(const char* operation, const Shape& shape, int axis) {
  const int rank = shape.rank();
  if (axis < -rank || axis >= rank) throw_error(operation, fmt::format("no axis {} in {}", axis, shape.str()));
  return shape.checked_axis(axis);
}

ReduceAttributes around(const Shape& shape, int axis) {
  return {.outer = product(shape, 0, axis), .axis = shape[axis], .inner = product(shape, axis + 1, shape.rank())};
}

Tensor sum_over(const Tensor& x, AxisMask axes, const Shape& shape, double scale, Location where) {
  Tensor partial = x;
  // Innermost groups come first: they are read in the order of memory, and leave less for the others to read.
  for (;;) {
    const Shape& from = partial.shape();
    const AxisGroup group = last_group(from, axes);
    axes &= (AxisMask{1} << group.begin) - 1;
    Shape to = from;
    for (int axis = group.begin; axis < group.end; ++axis) to = to.with(axis, 1);
    Tensor out = make_tensor(axes == 0 ? shape : to, x.dtype(), x.device());
    const ReduceAttributes attributes{.outer = product(from, 0, group.begin),
                                      .axis = product(from, group.begin, group.end),
                                      .inner = product(from, group.end, from.rank()),
                                      .scale = axes == 0 ? scale : 1};
    submit(Op::sum, {writes(out), reads(partial)}, attributes, where);
    if (axes == 0) return out;
    partial = out;
  }
}

}  // namespace asyncgrad::detail
