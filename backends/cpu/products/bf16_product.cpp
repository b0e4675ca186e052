#include "asyncgrad/backends/cpu/products/bf16_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "asyncgrad/backends/cpu/products/bf16_tiles.h"
#include "asyncgrad/backends/cpu/products/onednn.h"

namespace asyncgrad::detail {
namespace {

// Copies of rounded operands in float32, which a processor without tiles multiplies.
constexpr std::int64_t max_rows = 128, max_columns = 512, max_depth = 512;

// Rounds to the nearest, and ties to even.
float rounded(float value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

void copy_rounded(const float* from, std::int64_t from_row, std::int64_t from_column, std::int64_t rows,
                  std::int64_t columns, float* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) *to++ = rounded(from[i * from_row + j * from_column]);
  }
}

void panel_product_of_rounded(const PanelProduct<float>& p) {
  std::vector<float> x(static_cast<std::size_t>(p.m * p.k)), w(static_cast<std::size_t>(p.k * p.n));
  copy_rounded(p.x, p.x_row, p.x_column, p.m, p.k, x.data());
  copy_rounded(p.w, p.w_row, p.w_column, p.k, p.n, w.data());
  PanelProduct<float> copies = p;
  copies.x = x.data();
  copies.x_row = p.k;
  copies.w = w.data();
  copies.w_row = p.n;
  copies.x_column = copies.w_column = 1;
  panel_product_for_onednn(copies);
}

}  // namespace

void product_of_rounded(const PanelProduct<float>& p, void* scratch) {
  if (p.m > 0 && p.n > 0 && p.k > 0 && !has_onednn_kernels(std::min(p.m, max_rows), false)) {
    return panel_product_of_rounded(p);
  }
  float *const w = static_cast<float*>(scratch), *const x = w + max_columns * max_depth;
  for (std::int64_t column = 0; column < p.n; column += max_columns) {
    const std::int64_t columns = std::min(max_columns, p.n - column);
    for (std::int64_t k = 0; k < p.k; k += max_depth) {
      const std::int64_t depth = std::min(max_depth, p.k - k);
      copy_rounded(p.w + k * p.w_row + column * p.w_column, p.w_row, p.w_column, depth, columns, w);
      for (std::int64_t row = 0; row < p.m; row += max_rows) {
        const std::int64_t rows = std::min(max_rows, p.m - row);
        copy_rounded(p.x + row * p.x_row + k * p.x_column, p.x_row, p.x_column, rows, depth, x);
        onednn_product(rows, columns, depth, {x, depth, false}, {w, columns, false},
                       {p.out + row * p.out_row + column, p.out_row, k > 0});
      }
    }
  }
  if (p.k == 0) {
    for (std::int64_t row = 0; row < p.m; ++row) std::fill_n(p.out + row * p.out_row, p.n, 0.0F);
  }
  if (p.bias != nullptr || p.relu) add_bias(p);
}

std::int64_t rounded_scratch_bytes() {
  return (max_rows + max_columns) * max_depth * static_cast<std::int64_t>(sizeof(float));
}

bool has_bf16_tiles() {
  static const bool are_there = tiles_are_there();
  return are_there;
}

std::int64_t bf16_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return has_bf16_tiles() ? tiles_scratch_bytes(m, n, k) : rounded_scratch_bytes();
}

void bf16_product(const PanelProduct<float>& product, void* scratch) {
  if (has_bf16_tiles()) return multiply_by_tiles(product, scratch);
  product_of_rounded(product, scratch);
}

}  // namespace asyncgrad::detail
