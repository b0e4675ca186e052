// The columns of a convolution. Each column has the elements of an image that contribute to one output, so that the
// convolution becomes a product of matrices. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// How a convolution goes through one axis: output i has input i stride - padding + k dilation under its element k.
struct ConvAxis {
  std::int64_t in, out, kernel, stride, padding, dilation;

  std::int64_t input(std::int64_t output, std::int64_t k) const { return output * stride - padding + k * dilation; }
  // The first output that has an input >= 0 under its element k, and the first one that has an input >= `in` there. The
  // inputs of the outputs in between are inside.
  std::int64_t first_inside(std::int64_t k) const { return reaching(0, k); }
  std::int64_t first_behind(std::int64_t k) const { return reaching(in, k); }

 private:
  std::int64_t reaching(std::int64_t place, std::int64_t k) const {
    const std::int64_t distance = place + padding - k * dilation;
    const std::int64_t output = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    return output < out ? output : out;
  }
};

// Rows [first_row, last_row) and columns [first_column, last_column) of the matrix in which row (c, i, j) has the input
// of channel c under element (i, j) of the kernel, and column (p, q) belongs to that output.
struct ConvColumns {
  ConvAxis height, width;
  std::int64_t first_row, last_row, first_column, last_column;
  std::int64_t stride;  // from one row to the next in `columns`
};

template <class T>
struct ConvColumnLoops {
  // Copies the columns out of the image, with zeros for elements outside, and zeros after each row up to a multiple of
  // 64 bytes. `columns` has room for 64 bytes after the last row.
  void (*copy)(const ConvColumns& part, const T* image, T* columns);
  // Adds the columns to the image, row by row.
  void (*add)(const ConvColumns& part, const T* columns, T* image);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ConvColumnLoops>& column_loops();

}  // namespace asyncgrad::detail
