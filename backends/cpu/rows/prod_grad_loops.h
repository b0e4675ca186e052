// The loops of the gradient of a product. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// The rows whose products are kept at once: they stay in a cache while they are multiplied forwards and backwards.
inline constexpr std::int64_t prod_grad_block_rows = 32;

// How many numbers of scratch a strip needs: one for each block of each column, and one for the end of each column; also
// where several rows are seen as one.
constexpr std::int64_t prod_grad_scratch(std::int64_t axis, std::int64_t inner) {
  return axis * std::min(inner, strip_columns) / prod_grad_block_rows + 2 * strip_columns;
}

// Each element of dx is that of dy for its line times the product of the line's other elements, computed in float64 and
// without a division, so that it is exact where some of them are 0. A line is a row of the strip, whose rows lie one
// behind the other, or a column; dx is laid out as the strip. `behind` is memory for prod_grad_scratch() numbers.
template <class T>
struct ProdGradLoops {
  void (*rows)(const Strip<T>& x, const T* dy, T* dx, double* behind);
  void (*columns)(const Strip<T>& x, const T* dy, T* dx, double* behind);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ProdGradLoops>& prod_grad_loops();

}  // namespace asyncgrad::detail
