// The same values in another shape. Tensor's members of the same names do the same. All are differentiable, and throw
// Error at the call for shapes and axes that do not fit.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The elements in the same order. Shares storage and queues nothing. Throws Error unless the numbers of elements are
// equal.
Tensor reshape(const Arg& x, const Shape& shape);
// A copy with two axes exchanged, which is queued and may wait for room. (matmul reads transposed operands without a
// copy.)
Tensor transpose(const Arg& x, int axis_a = -2, int axis_b = -1);
// Rows [begin, end) of the first axis. Shares storage and queues nothing.
Tensor slice(const Arg& x, std::int64_t begin, std::int64_t end);

}  // namespace asyncgrad
