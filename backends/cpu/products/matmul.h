// The products of the CPU backend: Op::matmul, Op::dense and Op::dense_grad. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Enters the kernels for float32 and float64; for int64 they throw Error from `prepare`.
void add_matmul_kernels(Backend& backend);

}  // namespace asyncgrad::detail
