// Reductions in the form that kernels take. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

using AxisMask = std::uint32_t;  // bit i: axis i

// scale times the sum of x over `axes`, as a tensor of `shape`. Without history.
Tensor sum_over(const Tensor& x, AxisMask axes, const Shape& shape, double scale, Location where);

// The axis counted from the front. Throws Error for an axis that does not exist.
int checked_axis(const char* operation, const Shape& shape, int axis);
// `shape` seen as three axes, of which `axis` is the middle one.
ReduceAttributes around(const Shape& shape, int axis);

}  // namespace asyncgrad::detail
