// The loops of sum, prod, max and min. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// A matrix of `rows` rows and `columns` columns whose rows are `stride` elements apart.
template <class T>
struct Strip {
  const T* data;
  std::int64_t rows, columns, stride;
};

// Sums are multiplied by `scale`, except for int64, whose sums wrap around.
template <class T>
struct SumLoops {
  T (*row)(const T* x, std::int64_t n, double scale);
  void (*columns)(const Strip<T>& strip, double scale, T* out);
};

template <class T>
struct ReduceLoops {
  SumLoops<T> sum, sum_of_squares;
  // Products; those of int64 wrap around, and those of float32 are computed in float64.
  T (*prod_row)(const T* x, std::int64_t n);
  void (*prod_columns)(const Strip<T>& strip, T* out);
  // The maximum or minimum of at least one element; NaN if one of them is NaN.
  T (*max_row)(const T* x, std::int64_t n);
  void (*max_columns)(const Strip<T>& strip, T* out);
  T (*min_row)(const T* x, std::int64_t n);
  void (*min_columns)(const Strip<T>& strip, T* out);
};

// The maximum number of columns of a strip.
inline constexpr std::int64_t strip_columns = 256;

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<ReduceLoops>& reduce_loops();

}  // namespace asyncgrad::detail
