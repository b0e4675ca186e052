// The loops of the gradient of a product. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Each element of dx is that of dy for its line times the product of the line's other elements, computed in float64 and
// without a division, so that it is exact where some of them are 0. A line is a row of the strip, whose rows lie one
// behind the other, or a column; dx is laid out as the strip.
template <class T>
struct ProdGradLoops {
  void (*rows)(const Strip<T>& x, const T* dy, T* dx);
  void (*columns)(const Strip<T>& x, const T* dy, T* dx);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ProdGradLoops>& prod_grad_loops();

}  // namespace asyncgrad::detail
