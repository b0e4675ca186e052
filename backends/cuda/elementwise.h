// Elementwise operations by element type. Internal.
#pragma once

#include <array>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

using ElementwiseRun = void (*)(const KernelCall& call);
// By formulas::id; int64 has null where the table says that a row has no integer form.
using ElementwiseTable = std::array<ElementwiseRun, formulas::count>;

const ElementwiseTable& float32_elementwise();
const ElementwiseTable& float64_elementwise();
const ElementwiseTable& int64_elementwise();

}  // namespace asyncgrad::detail::cuda
