// The loops of cumulative sums. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Sums from a line's first element, or from its last one, up to each, added one by one in float64, or, for int64, so that
// they wrap around. A line is a row of the strip, whose rows lie one behind the other, or a column; `out` is laid out as
// the strip.
template <class T>
struct CumsumLoops {
  void (*rows)(const Strip<T>& strip, T* out, bool from_end);
  void (*columns)(const Strip<T>& strip, T* out, bool from_end);
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<CumsumLoops>& cumsum_loops();

}  // namespace asyncgrad::detail
