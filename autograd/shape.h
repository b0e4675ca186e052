// The same values in another shape. The members of Tensor of the same names do the same. Queued; all throw Error at the
// call for shapes and axes that do not fit.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The elements in the same order; shares storage and queues nothing. Throws Error unless the number of elements is
// equal.
Tensor reshape(const Arg& x, const Shape& shape);
// A copy with two axes exchanged. (matmul reads transposed operands without one.)
Tensor transpose(const Arg& x, int axis_a = -2, int axis_b = -1);
// Rows [begin, end) of the first axis; shares storage and queues nothing.
Tensor slice(const Arg& x, std::int64_t begin, std::int64_t end);

}  // namespace asyncgrad
