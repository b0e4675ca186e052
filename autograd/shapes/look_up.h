// Selection of rows whose gradient is kept by rows. Internal.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// take(table, indices). If the table is a leaf, its gradient is kept by rows until another operation adds a tensor to
// it (autograd/tape/row_gradient.h).
Tensor look_up(const Arg& table, const Arg& indices);

}  // namespace asyncgrad::detail
