// Reductions in the form that kernels take. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

using AxisMask = std::uint32_t;  // bit i: axis i

// Adds an axis to the mask, and returns it counted from the front. Throws Error for an axis that does not exist, or is
// in the mask.
int add_axis(const char* operation, const Shape& shape, int axis, AxisMask& axes);
// The axes as a mask. Throws Error for axes that do not exist or are named twice.
AxisMask mask_of(const char* operation, const Shape& shape, const Axes& axes);
inline AxisMask all_axes(const Shape& shape) { return (AxisMask{1} << shape.rank()) - 1; }
// `shape` without `axes`, or with extent 1 there.
Shape reduced(const Shape& shape, AxisMask axes, bool keep_dims);
// The number of elements that are reduced to one.
std::int64_t count_over(const Shape& shape, AxisMask axes);

// Throws Error if one of the axes has no elements.
void check_elements(const char* operation, const Shape& shape, AxisMask axes);

// The sum, maximum or minimum of x over `axes`, as a tensor of `shape`; a sum is multiplied by `scale`. Without
// history.
Tensor reduce_over(Op op, const Tensor& x, AxisMask axes, const Shape& shape, double scale, Location where);
inline Tensor sum_over(const Tensor& x, AxisMask axes, const Shape& shape, double scale, Location where) {
  return reduce_over(Op::sum, x, axes, shape, scale, where);
}
// How many elements are true, multiplied by `scale`, likewise, as int64 or a floating type.
Tensor sum_of_booleans(const Tensor& x, AxisMask axes, const Shape& shape, DType dtype, double scale, Location where);
// The sum of the squares of x, likewise.
Tensor sum_of_squares(const Tensor& x, AxisMask axes, const Shape& shape, Location where);

// The place, counted from the front, of a new axis in `shape`. Throws Error if there is no such place.
int checked_new_axis(const char* operation, const Shape& shape, int axis);
// `shape` with one more axis, at that place.
Shape with_axis(const Shape& shape, int place, std::int64_t extent);
// `shape` seen as three axes, of which `axis` is the middle one.
ReduceAttributes around(const Shape& shape, int axis);
// Does the same with several axes as the middle one: the last ones of `axes` that are adjacent. If they have one
// element, all of `shape` lies behind them, so that kernels see one row of neighbouring lines.
ReduceAttributes around_last_group(const Shape& shape, AxisMask axes);
bool are_adjacent(AxisMask axes);

}  // namespace asyncgrad::detail
