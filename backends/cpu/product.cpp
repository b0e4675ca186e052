#include "asyncgrad/backends/cpu/product.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "asyncgrad/backends/cpu/onednn.h"
#include "asyncgrad/backends/cpu/panel_product.h"

namespace asyncgrad::detail {
namespace {

struct Range {
  std::int64_t first, count;
};
// Part `index` of `parts` of [0, extent), cut at multiples of 16, a cache line of float32.
Range part_of(std::int64_t extent, int parts, int index) {
  constexpr std::int64_t grain = 16;
  const std::int64_t grains = (extent + grain - 1) / grain;
  const std::int64_t first = std::min(extent, grains * index / parts * grain);
  return {first, std::min(extent, grains * (index + 1) / parts * grain) - first};
}

// Tiles of about `macs_per_tile` multiply-adds, columns about `column_width` wide, then rows at least `fewest_rows`.
ProductPlan cut(const ProductShape& shape, std::int64_t tiles, std::int64_t column_width, std::int64_t fewest_rows) {
  const std::int64_t columns = std::clamp<std::int64_t>(shape.n / column_width, 1, tiles);
  const std::int64_t rows =
      std::clamp<std::int64_t>(tiles / columns, 1, std::max<std::int64_t>(1, shape.m / fewest_rows));
  return {.row_tiles = static_cast<int>(rows), .column_tiles = static_cast<int>(columns)};
}

// A matrix times a vector reads the matrix once: what counts is that a tile reads long stretches.
ProductPlan plan_vector(const ProductShape& shape) {
  const std::int64_t tiles = std::clamp<std::int64_t>(shape.m * shape.n * shape.k >> 17, 1, 16);
  if (shape.n == 1) return cut(shape, tiles, 1, 64);
  return cut(shape, tiles, 128, 1);
}

template <class T>
PanelProduct<T> block_of(const ProductShape& shape, const ProductOperands<T>& operands, Range rows, Range columns) {
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

// Strides of axes of length one are free: the ones that the fast loops like. A column becomes a row.
template <class T>
void by_panels(PanelProduct<T> block, bool out_is_column, void* scratch) {
  if (block.m == 1 || block.k == 1) block.x_column = block.k == 1 ? 1 : block.x_column;
  if (block.k == 1 && block.w_row == 1) block.w_column = 1;
  if (out_is_column) {
    std::swap(block.m, block.n);
    std::swap(block.x, block.w);
    std::swap(block.x_row, block.w_column);
    std::swap(block.x_column, block.w_row);
    block.bias_column = 0;
  }
  if (block.m == 1 && block.x_row == 1 && block.x_column != 1 && block.k == 1) block.x_column = 1;
  panel_product(block, scratch);
}

void by_onednn(const ProductShape& shape, const PanelProduct<float>& block) {
  onednn_product(block.m, block.n, block.k, {block.x, shape.transpose_x ? shape.m : shape.k, shape.transpose_x},
                 {block.w, shape.transpose_w ? shape.k : shape.n, shape.transpose_w}, block.out, block.out_row);
  if (block.bias != nullptr || block.relu) add_bias(block);
}

}  // namespace

ProductPlan plan_product(const ProductShape& shape) {
  const std::int64_t macs = shape.m * shape.n * shape.k;
  if (shape.m == 1 || shape.n == 1) return plan_vector(shape);
  if (shape.dtype == DType::float64) return cut(shape, std::clamp<std::int64_t>(macs >> 21, 1, 16), 128, 16);
  if (macs < 1 << 16 || shape.k == 1) return cut(shape, std::clamp<std::int64_t>(macs >> 18, 1, 16), 512, 16);
  const std::int64_t most_tiles = std::clamp<std::int64_t>(macs >> 26, 16, 64);
  ProductPlan plan = cut(shape, std::clamp<std::int64_t>(macs >> 23, 1, most_tiles), 512, 48);
  plan.by_onednn = true;
  return plan;
}

std::int64_t product_scratch_bytes(const ProductShape& shape) {
  return plan_product(shape).by_onednn ? 0 : panel_scratch_bytes(shape.k);
}

template <class T>
void run_product_tile(const ProductShape& shape, const ProductOperands<T>& operands, int tile, std::byte* scratch) {
  const ProductPlan plan = plan_product(shape);
  const Range rows = part_of(shape.m, plan.row_tiles, tile / plan.column_tiles);
  const Range columns = part_of(shape.n, plan.column_tiles, tile % plan.column_tiles);
  if (rows.count == 0 || columns.count == 0) return;
  const PanelProduct<T> block = block_of(shape, operands, rows, columns);
  if constexpr (std::is_same_v<T, float>) {
    if (plan.by_onednn) return by_onednn(shape, block);
  }
  by_panels(block, shape.n == 1, scratch);
}
template void run_product_tile(const ProductShape&, const ProductOperands<float>&, int, std::byte*);
template void run_product_tile(const ProductShape&, const ProductOperands<double>&, int, std::byte*);

}  // namespace asyncgrad::detail
