// Rows by number.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Rows of x: x (R, …), indices (K) int64 -> (K, …), result[i] = x[indices[i]]. Queued. Throws Error at the call if x
// has no axis or indices are not int64 of one axis; an index outside of [0, R) is an Error at the wait, as values are
// known only then. A GPU does not look before it takes: there the row is NaN (int64: the lowest number), and its
// gradient goes nowhere.
Tensor take(const Arg& x, const Arg& indices);

}  // namespace asyncgrad
