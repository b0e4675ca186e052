// The inner loops of elementwise operations. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

inline constexpr int max_inputs = 3;

// An input of a loop: adjacent elements (step 1), or the same element again and again (step 0).
struct LoopInput {
  const void* data;
  int step;
};

// out[i] = formula(inputs[0][i], …) for i in [0, n). An element's bits depend on its inputs alone, not on i or n. `out`
// may be the data of an input with step 1.
using Loop = void (*)(void* out, const LoopInput* inputs, std::int64_t n);
using LoopTable = std::array<Loop, formulas::count>;

// For elements of the type T, indexed by formulas::id. The entries for int64 and bool are null for formulas without
// such a form.
template <class T>
struct ElementwiseLoops {
  LoopTable same_type;
  LoopTable predicates;  // with bools, 0 or 1 in a byte each, as output; null for formulas that are no predicates
};
// The functions for the best instruction set that this processor has.
const FloatingLoops<ElementwiseLoops>& elementwise_loops();
const ElementwiseLoops<std::int64_t>& int64_loops();
const LoopTable& boolean_loops();

}  // namespace asyncgrad::detail
