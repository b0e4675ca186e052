// The loops of prod. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Products of int64 wrap around, and those of float32 are computed in float64.
template <class T>
struct ProdLoops {
  StripLoops<T> whole;
  // The product of n elements, and of the first `rows` elements of each column.
  void (*row_block)(const T* x, std::int64_t n, Total<T>* part);
  void (*column_block)(const Strip<T>& strip, std::int64_t rows, Total<T>* parts);
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<ProdLoops>& prod_loops();

}  // namespace asyncgrad::detail
