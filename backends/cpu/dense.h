// The gradient through the activation and the bias of dense. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Op::dense_grad: dz = activation'(y) dy and dbias, the sums of dz's columns, in one pass over memory. Tiles are ranges
// of columns; a column is summed in blocks of rows, the same in any tile.
Kernel dense_grad_kernel();

}  // namespace asyncgrad::detail
