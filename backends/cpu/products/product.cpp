#include "asyncgrad/backends/cpu/products/product.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "asyncgrad/backends/cpu/products/bf16_product.h"
#include "asyncgrad/backends/cpu/products/onednn.h"
#include "asyncgrad/backends/cpu/products/panel_product.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {
namespace {

struct Part {
  std::int64_t first, count;
};
// Part `index` of `parts` of [0, extent), cut at multiples of a cache line of float32.
Part part_of(std::int64_t extent, int parts, int index) {
  if (parts == 1) return {0, extent};
  constexpr std::int64_t grain = line_floats;
  const std::int64_t grains = divided_up(extent, grain);
  const std::int64_t first = std::min(extent, grains * index / parts * grain);
  return {first, std::min(extent, grains * (index + 1) / parts * grain) - first};
}

// At most `max_tiles` tiles, and a power of two: if there were three tiles, one of two threads would compute two.
int tiles_of(std::int64_t extent, std::int64_t min_length, std::int64_t max_tiles) {
  const auto tiles = static_cast<std::uint64_t>(std::min(extent / min_length, max_tiles));
  return static_cast<int>(std::max<std::uint64_t>(1, std::bit_floor(tiles)));
}

// At most `tiles` tiles. Columns are cut first, into widths of at least `column_width`, then rows, into at least
// `min_rows` each.
ProductPlan cut(const ProductShape& shape, std::int64_t tiles, std::int64_t column_width, std::int64_t min_rows) {
  const int columns = tiles_of(shape.n, column_width, tiles);
  return {.row_tiles = tiles_of(shape.m, min_rows, tiles / columns), .column_tiles = columns};
}

// Rows are cut first, as the loops write them whole. A tile writes about as much as one of elementwise operations.
ProductPlan plan_few_terms(const ProductShape& shape) {
  const std::int64_t tiles = std::clamp<std::int64_t>(shape.m * shape.n >> 16, 1, 32);
  const int rows = tiles_of(shape.m, 16, tiles);
  return {.row_tiles = rows, .column_tiles = tiles_of(shape.n, 128, tiles / rows)};
}

// A matrix times a vector reads the matrix once: what counts is that a tile reads long stretches.
ProductPlan plan_vector(const ProductShape& shape) {
  const std::int64_t tiles = std::clamp<std::int64_t>(shape.m * shape.n * shape.k >> 17, 1, 16);
  if (shape.n == 1) return cut(shape, tiles, 1, 64);
  return cut(shape, tiles, 128, 1);
}

template <class T>
PanelProduct<T> block_of(const ProductShape& shape, const ProductOperands<T>& operands, Part rows, Part columns) {
  PanelProduct<T> block{.m = rows.count,
                        .n = columns.count,
                        .k = shape.k,
                        .x = operands.x,
                        .x_row = shape.transpose_x ? 1 : shape.k,
                        .x_column = shape.transpose_x ? shape.m : 1,
                        .w = operands.w,
                        .w_row = shape.transpose_w ? 1 : shape.n,
                        .w_column = shape.transpose_w ? shape.k : 1,
                        .out = operands.out + rows.first * shape.n + columns.first,
                        .out_row = shape.n,
                        .bias = operands.bias == nullptr ? nullptr : operands.bias + columns.first,
                        .relu = operands.activation == ActivationKind::relu};
  block.x += rows.first * block.x_row;
  block.w += columns.first * block.w_column;
  return block;
}

// The stride of an axis of length one does not matter, so it becomes the one that the loops want. A column becomes a
// row.
template <class T>
void by_panels(PanelProduct<T> block, bool out_is_column, void* scratch) {
  if (block.k == 1) block.x_column = block.w_column = 1;
  if (out_is_column) {
    std::swap(block.m, block.n);
    std::swap(block.x, block.w);
    std::swap(block.x_row, block.w_column);
    std::swap(block.x_column, block.w_row);
    block.bias_column = 0;
  }
  panel_product(block, scratch);
}

// Rows of x^T a multiple of 2 KiB apart fall on few lines of the caches, and oneDNN packs them half again as slowly as
// all the rest takes ((1024, 2048)^T x (1024, 512): 29 ms against 19). A copy with rows of odd length cures it.
constexpr std::int64_t copied_rows = 128, copied_k = 1024, copied_stride = copied_rows + 16;
bool copies_x(const ProductShape& shape) { return shape.transpose_x && shape.m >= 1024 && shape.m % 512 == 0; }

void by_onednn_from_copies(const ProductShape& shape, PanelProduct<float> block, float* copy) {
  for (std::int64_t row = 0; row < block.m; row += copied_rows) {
    const std::int64_t rows = std::min(copied_rows, block.m - row);
    for (std::int64_t first_k = 0; first_k < block.k; first_k += copied_k) {
      const std::int64_t depth = std::min(copied_k, block.k - first_k);
      for (std::int64_t i = 0; i < depth; ++i) {
        std::copy_n(block.x + row + (first_k + i) * block.x_column, rows, copy + i * copied_stride);
      }
      onednn_product(rows, block.n, depth, {copy, copied_stride, true},
                     {block.w + first_k * block.w_row, shape.transpose_w ? shape.k : shape.n, shape.transpose_w},
                     {block.out + row * block.out_row, block.out_row, first_k > 0});
    }
  }
}

void by_onednn(const ProductShape& shape, const PanelProduct<float>& block, std::byte* scratch) {
  if (!has_onednn_kernels(block.m, shape.transpose_w)) return panel_product_for_onednn(block);
  if (copies_x(shape)) {
    by_onednn_from_copies(shape, block, reinterpret_cast<float*>(scratch));
  } else {
    onednn_product(block.m, block.n, block.k, {block.x, shape.transpose_x ? shape.m : shape.k, shape.transpose_x},
                   {block.w, shape.transpose_w ? shape.k : shape.n, shape.transpose_w},
                   {block.out, block.out_row, false});
  }
  if (block.bias != nullptr || block.relu) add_bias(block);
}

// Whether a call of oneDNN costs more than it saves. A transposed w must be copied first, which is worth it for many
// rows. Short and wide products, such as (64, 10) x (10, 784), take oneDNN half the time.
bool suits_panels(const ProductShape& shape) {
  if (shape.dtype != DType::float32 || shape.k <= 1) return true;
  const bool copy_pays = !shape.transpose_w || shape.m >= 16 || shape.n * shape.k <= 1024;
  const bool is_compact = std::max({shape.m, shape.n, shape.k}) <= 128;
  return copy_pays && shape.m * shape.n * shape.k <= (is_compact ? 1 << 20 : 1 << 18);
}

bool by_bf16(const ProductShape& shape) { return shape.math == MathMode::bf16 && shape.dtype == DType::float32; }

// A tile rounds and packs all that it reads of x and w: tiles are few, about square, of 512 x 512 or more, and the
// larger the longer the sums.
ProductPlan plan_bf16(const ProductShape& shape) {
  constexpr std::int64_t min_length = 64, min_wanted = 4, max_wanted = 64;
  const std::int64_t outputs = shape.m * shape.n, macs = outputs * shape.k;
  const std::int64_t wanted = std::clamp(std::min(macs >> 27, outputs >> 18), min_wanted, max_wanted);
  const std::int64_t max_tiles = std::clamp<std::int64_t>(macs >> 24, 1, wanted);
  ProductPlan plan;
  while (plan.tiles() <= max_tiles / 2) {
    const std::int64_t rows = shape.m / plan.row_tiles, columns = shape.n / plan.column_tiles;
    if (std::max(rows, columns) < 2 * min_length) break;
    (rows >= columns ? plan.row_tiles : plan.column_tiles) *= 2;
  }
  return plan;
}

}  // namespace

namespace {

ProductPlan plan_of_one(const ProductShape& shape) {
  const std::int64_t macs = shape.m * shape.n * shape.k;
  if (by_bf16(shape)) return plan_bf16(shape);
  const bool is_vector = shape.m == 1 || shape.n == 1;
  if (shape.k <= few_terms && !is_vector && suits_panels(shape)) return plan_few_terms(shape);
  if (macs <= 1 << 17 && suits_panels(shape)) return {};
  if (is_vector) return plan_vector(shape);
  if (suits_panels(shape)) return cut(shape, std::clamp<std::int64_t>(macs >> 18, 1, 16), 128, 16);
  const std::int64_t max_tiles = std::clamp<std::int64_t>(macs >> 27, 8, 32);
  // With few rows it is w that takes the time, of which each tile of columns has its own.
  const std::int64_t column_width = shape.m <= 64 ? std::clamp<std::int64_t>(shape.n / 4, 64, 512) : 512;
  ProductPlan plan = cut(shape, std::clamp<std::int64_t>(macs >> 20, 1, max_tiles), column_width, 64);
  plan.by_onednn = true;
  return plan;
}

}  // namespace

ProductPlan plan_product(const ProductShape& shape) {
  ProductPlan plan = plan_of_one(shape);
  if (shape.is_one_tile) plan.row_tiles = plan.column_tiles = 1;
  return plan;
}

std::int64_t product_scratch_bytes(const ProductShape& shape) {
  if (by_bf16(shape)) return bf16_scratch_bytes(shape.m, shape.n, shape.k);
  if (!plan_product(shape).by_onednn) return panel_scratch_bytes(shape.k);
  if (!copies_x(shape)) return 0;
  return std::min(shape.k, copied_k) * copied_stride * static_cast<std::int64_t>(sizeof(float));
}

template <class T>
void run_product_tile(const ProductShape& shape, const ProductPlan& plan, const ProductOperands<T>& operands, int tile,
                      std::byte* scratch) {
  const int row_tile = tile / plan.column_tiles, column_tile = tile % plan.column_tiles;
  const Part rows = part_of(shape.m, plan.row_tiles, row_tile);
  const Part columns = part_of(shape.n, plan.column_tiles, column_tile);
  if (rows.count == 0 || columns.count == 0) return;
  const PanelProduct<T> block = block_of(shape, operands, rows, columns);
  if constexpr (std::is_same_v<T, float>) {
    if (by_bf16(shape)) return bf16_product(block, scratch);
    if (plan.by_onednn) return by_onednn(shape, block, scratch);
  }
  by_panels(block, shape.n == 1, scratch);
}
template void run_product_tile(const ProductShape&, const ProductPlan&, const ProductOperands<float>&, int, std::byte*);
template void run_product_tile(const ProductShape&, const ProductPlan&, const ProductOperands<double>&, int,
                               std::byte*);

}  // namespace asyncgrad::detail
