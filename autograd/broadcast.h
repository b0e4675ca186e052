// Broadcasting and its gradient. Internal.
#pragma once

#include <span>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Widens `shape` to the shape to which both broadcast. Returns false if they do not broadcast.
bool broadcast_into(Shape& shape, const Shape& other);

// The gradient of broadcasting `shape` to x's shape: the sum of x over the axes that were repeated.
Tensor sum_to(const Tensor& x, const Shape& shape);

// scale * x, repeated to `shape`. Without history.
Tensor expand(const Tensor& x, const Shape& shape, double scale, Location where);

}  // namespace asyncgrad::detail
