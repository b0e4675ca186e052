// Broadcasting and its gradient. Internal.
#pragma once

#include <span>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Widens `shape` to what both broadcast to; false if they do not.
bool broadcast_into(Shape& shape, const Shape& other);

// The sum of x over what was repeated to make x's shape from `shape`.
Tensor sum_to(const Tensor& x, const Shape& shape);

// scale * x, repeated to `shape`. Without history.
Tensor expand(const Tensor& x, const Shape& shape, double scale, Location where);

}  // namespace asyncgrad::detail
