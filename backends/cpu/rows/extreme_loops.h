// The loops of max and min. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// They reduce at least one element, and give NaN if one of them is NaN.
template <class T>
struct ExtremeLoops {
  StripLoops<T> max, min;
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<ExtremeLoops>& extreme_loops();

}  // namespace asyncgrad::detail
