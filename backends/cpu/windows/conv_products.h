// The products of convolutions (conv.cpp, conv_weight.cpp). Internal.
//
// In all of them one matrix is not laid out: its elements lie in planes, a sum of two offsets away from the first, so
// that the columns of a convolution never exist. Every sum is one chain in the order of k, except for dots.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// out[out_rows[r]][j] (+)= the sum over k of x[row_offsets[r] + depth_offsets[k]] panel[panel_rows[k]][j], where j goes
// along vectors. The panel has rows of whole vectors (ConvProducts::max_vectors at most), one behind the other. Without
// panel_rows its row k is meant. Without `accumulate` the sums begin with initial[j], or with 0 if that is null.
template <class T>
struct GatheredProduct {
  const T* x;
  const std::int64_t *row_offsets, *out_rows;
  std::int64_t rows;
  const std::int64_t *depth_offsets, *panel_rows;
  std::int64_t depth;
  const T* panel;
  std::int64_t columns;
  T* out;
  std::int64_t out_row;
  const T* initial;
  bool accumulate;
};

// out[r][p] (+)= the sum over k of w[k][r] x[depth_offsets[k] + p], where p goes along vectors. w has `rows` elements a
// row. Rows of out have room for a whole number of vectors, and x has elements for as many. Without `accumulate` the sums
// begin with initial[r], or with 0.
template <class T>
struct ShiftedProduct {
  const T* x;
  const std::int64_t* depth_offsets;
  std::int64_t depth;
  const T* w;
  std::int64_t rows;
  std::int64_t columns;
  T* out;
  std::int64_t out_row;
  const T* initial;
  bool accumulate;
};

// out[out_rows[k]][r] += the sum over p of y[r][p] x[depth_offsets[k] + p]. The columns fill whole vectors. Only those of `inside`
// columns in each line of `line`, and of `inside_lines` lines in each image of `lines`, count: y is 0 at the others.
template <class T>
struct ShiftedDots {
  const T* x;
  const std::int64_t* depth_offsets;
  std::int64_t depth;
  const T* y;
  std::int64_t y_row;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t inside, line, inside_lines, lines;
  T* out;
  const std::int64_t* out_rows;
  std::int64_t out_row;
};

// out[r][p] (+)= the sum over m < depth and j < width of w[m width + j] x[(r + m) x_row + offsets[j] + p]; without
// `accumulate` the sums begin with `initial`. Vectors go along p, and x has elements for whole ones.
template <class T>
struct PlaneProduct {
  const T* x;
  std::int64_t x_row;
  const std::int64_t* offsets;
  std::int64_t depth, width;
  const T* w;
  std::int64_t rows, columns;
  T* out;
  std::int64_t out_row;
  T initial;
  bool accumulate;
};

template <class T>
struct ConvProducts {
  std::int64_t lanes;  // of a vector
  std::int64_t max_vectors;
  // The elements of as many vectors as hold these.
  std::int64_t whole_vectors(std::int64_t elements) const { return rounded_up(elements, lanes); }
  void (*gathered)(const GatheredProduct<T>& product);
  void (*shifted)(const ShiftedProduct<T>& product);
  void (*dots)(const ShiftedDots<T>& dots);
  void (*plane)(const PlaneProduct<T>& product);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ConvProducts>& conv_products();

}  // namespace asyncgrad::detail
