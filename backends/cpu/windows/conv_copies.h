// The copies beside the products of convolutions (conv_field.cpp, conv.cpp, conv_weight.cpp). Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

// Lines of planes that are copied, image by image: line r of an image comes from its line first_row + r row_step, or is
// zeros if that is not in [0, height). Its element c comes from first_column + c column_step if begin <= c < end, else it
// is zero. What lies up to 64 bytes behind the copies is overwritten.
template <class T>
struct ConvPlanes {
  const T* from;
  std::int64_t image_stride, height, width;
  Range images;
  std::int64_t rows, first_row, row_step;
  std::int64_t columns, first_column, column_step;
  std::int64_t begin, end;
  T* to;
};

template <class T>
struct ConvCopies {
  std::int64_t lanes;  // of a vector
  void (*copy)(const ConvPlanes<T>& planes);
  // to[j to_row + i] = from[i from_row + j] for i < rows and j < columns.
  void (*transpose)(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, T* to,
                    std::int64_t to_row);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ConvCopies>& conv_copies();

}  // namespace asyncgrad::detail
