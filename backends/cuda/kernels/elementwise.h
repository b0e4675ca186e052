// Elementwise operations by element type. Internal.
#pragma once

#include <array>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

using ElementwiseRun = void (*)(const KernelCall& call);
// By formulas::id; null where the table says that a row has no form for int64 or bool.
using ElementwiseTable = std::array<ElementwiseRun, formulas::count>;

const ElementwiseTable& float32_elementwise();
const ElementwiseTable& float64_elementwise();
const ElementwiseTable& int64_elementwise();
const ElementwiseTable& boolean_elementwise();
// With bools as output; null for formulas that are no predicates.
const ElementwiseTable& float32_predicates();
const ElementwiseTable& float64_predicates();
const ElementwiseTable& int64_predicates();

}  // namespace asyncgrad::detail::cuda
