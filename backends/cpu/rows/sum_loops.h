// The loops of sums. Internal.
#pragma once

#include <cstdint>
#include <type_traits>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"

namespace asyncgrad::detail {

// Returns a sum, multiplied by `scale`, in the type of the result. Sums of int64 have no scale.
template <class T, class Sum>
constexpr T scaled(Sum sum, double scale) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(sum);
  } else {
    return static_cast<T>(static_cast<double>(sum) * scale);
  }
}

// `rows` and `columns` are as those of StripLoops. Sums of int64 wrap around.
template <class T>
struct SumStripLoops {
  void (*rows)(const Strip<T>& strip, double scale, T* out);
  void (*columns)(const Strip<T>& strip, double scale, T* out);
  // The sums of blocks: of a row of n elements, at most summed_in_row; of the first `rows` rows of each column, at most
  // summed_in_column, where the strip goes on as its columns do.
  void (*row_block)(const T* x, std::int64_t n, Total<T>* part);
  void (*column_block)(const Strip<T>& strip, std::int64_t rows, Total<T>* parts);
};

template <class T>
struct SumLoops {
  SumStripLoops<T> sum, sum_of_squares;
};

// The functions for the best instruction set that this processor has.
const ArithmeticLoops<SumLoops>& sum_loops();

}  // namespace asyncgrad::detail
