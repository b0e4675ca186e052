// The gradient through the activation and the bias of dense. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Op::dense_grad: dz = activation'(y) dy, and dbias, the sums of dz's columns, in one pass over memory. Tiles are
// ranges of columns. A column is summed in the same blocks of rows in every tile, so that tiles do not change its bits.
Kernel dense_grad_kernel();

}  // namespace asyncgrad::detail
