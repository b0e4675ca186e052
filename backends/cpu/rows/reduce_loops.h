// The loops of prod, max and min. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Two functions that reduce a strip, to an element of `out` for each of its rows, whose elements lie one behind the
// other (stride = columns), or for each of its columns.
template <class T>
struct StripLoops {
  void (*rows)(const Strip<T>& strip, T* out);
  void (*columns)(const Strip<T>& strip, T* out);
};

template <class T>
struct ReduceLoops {
  StripLoops<T> prod;  // products of int64 wrap around, and those of float32 are computed in float64
  // The product of n elements, and of the first `rows` elements of each column.
  void (*prod_row_block)(const T* x, std::int64_t n, Total<T>* part);
  void (*prod_column_block)(const Strip<T>& strip, std::int64_t rows, Total<T>* parts);
  StripLoops<T> max, min;  // of at least one element; NaN if one of them is NaN
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<ReduceLoops>& reduce_loops();

}  // namespace asyncgrad::detail
