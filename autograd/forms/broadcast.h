// Broadcasting and its gradient. Internal.
#pragma once

#include <span>

#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Widens `shape` to the shape to which both broadcast. Returns false if they do not broadcast.
bool broadcast_into(Shape& shape, const Shape& other);

// The gradient of broadcasting `shape` to x's shape: the sum of x over the axes that were repeated. Recorded.
Tensor sum_to(const Tensor& x, const Shape& shape);

// scale times the sum over `axes`, as a tensor of `shape`. Recorded.
Tensor recorded_sum(const char* operation, const Tensor& x, AxisMask axes, const Shape& shape, double scale,
                    Location where);

// scale * x, repeated to `shape`. Recorded.
Tensor expand(const Tensor& x, const Shape& shape, double scale, Location where);

}  // namespace asyncgrad::detail
