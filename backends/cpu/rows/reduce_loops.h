// The loops of sum, prod, max and min. Internal.
#pragma once

#include <cstdint>
#include <type_traits>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Two functions that reduce a strip, to an element of `out` for each of its rows, whose elements lie one behind the
// other (stride = columns), or for each of its columns. Sums are multiplied by `scale`, except for int64, whose sums
// wrap around.
template <class T>
struct SumLoops {
  void (*rows)(const Strip<T>& strip, double scale, T* out);
  void (*columns)(const Strip<T>& strip, double scale, T* out);
  // The sums of blocks: of a row of n elements, at most summed_in_row; of the first `rows` rows of each column, at most
  // summed_in_column, where the strip goes on as its columns do.
  using Part = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  void (*row_block)(const T* x, std::int64_t n, Part* part);
  void (*column_block)(const Strip<T>& strip, std::int64_t rows, Part* parts);
};
template <class T>
struct StripLoops {
  void (*rows)(const Strip<T>& strip, T* out);
  void (*columns)(const Strip<T>& strip, T* out);
};

template <class T>
struct ReduceLoops {
  SumLoops<T> sum, sum_of_squares;
  StripLoops<T> prod;      // products of int64 wrap around, and those of float32 are computed in float64
  StripLoops<T> max, min;  // of at least one element; NaN if one of them is NaN
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<ReduceLoops>& reduce_loops();

}  // namespace asyncgrad::detail
