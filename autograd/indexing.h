// Selection of rows by index.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// result[i] = x[indices[i]]: x (R, …), indices (K) int64 -> (K, …). Differentiable in x. Queued; may wait for room.
// Throws Error at the call if x has no axis, or if indices are not int64 of one axis. Values are known later: for an
// index outside of [0, R) the wait throws. A GPU does not check indices: there the row is NaN (the lowest number for
// int64), and its gradient is dropped.
Tensor take(const Arg& x, const Arg& indices);

}  // namespace asyncgrad
