// The only door to oneDNN: what differs between its versions stays behind it. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// A matrix as it lies in memory: rows of `row_stride` elements; `transposed`: the operand is its transpose.
struct MatrixView {
  const float* data;
  std::int64_t row_stride;
  bool transposed;
};

// out (m, n) = x (m, k) w (k, n), all extents at least 1, rows of out `out_row_stride` apart. Runs on the calling
// thread if that has one OpenMP thread. Throws Error if oneDNN finds no memory.
void onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    float* out, std::int64_t out_row_stride);

}  // namespace asyncgrad::detail
