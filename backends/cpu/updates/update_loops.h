// The inner loops of optimisers, one for each rule of core/backend/update_rules.h. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/core/backend/attributes/update.h"

namespace asyncgrad::detail {

// The arguments of a loop: `n` elements of arrays that do not overlap.
template <class T>
struct UpdateArrays {
  std::array<T*, max_update_arrays> updated;  // the parameter and its states
  const T* gradient;
  std::int64_t n;
};

// An element's bits depend on its inputs alone, not on its index, on n or on the instruction set. Products are not
// fused with sums.
template <class T>
struct UpdateLoops {
  using Loop = void (*)(const std::array<double, max_update_numbers>& numbers, const UpdateArrays<T>& arrays);
  std::array<Loop, rules::count> of_rule;  // by rules::id
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<UpdateLoops>& update_loops();

}  // namespace asyncgrad::detail
