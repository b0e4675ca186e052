// The inner loops of elementwise operations. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

inline constexpr int most_inputs = 3;

// An input of a loop: adjacent elements (step 1), or the same element again and again (step 0).
struct LoopInput {
  const void* data;
  int step;
};

// out[i] = formula(inputs[0][i], …) for i in [0, n). An element's bits depend on its inputs alone, not on i or n. `out`
// may be the data of an input with step 1.
using Loop = void (*)(void* out, const LoopInput* inputs, std::int64_t n);
using LoopTable = std::array<Loop, formulas::count>;

// The loops, indexed by formulas::id. The floating ones are for the best instruction set of this processor; those of
// int64 and bool are null for formulas without such a form.
const LoopTable& float32_loops();
const LoopTable& float64_loops();
const LoopTable& int64_loops();
const LoopTable& boolean_loops();
// The same with bools, 0 or 1 in a byte each, as output; null for formulas that are no predicates.
const LoopTable& float32_predicates();
const LoopTable& float64_predicates();
const LoopTable& int64_predicates();

}  // namespace asyncgrad::detail
