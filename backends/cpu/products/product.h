// A product of two matrices, cut into tiles: what matmul and dense have in common. Internal.
//
// out = activation(x w + bias), x (m, k), w (k, n), bias (n), out (m, n). Either operand may be stored transposed. The
// shape alone decides on the tiles and on the kernel that computes them, and a tile's bits depend on the shape and the
// tile alone: neither the thread nor the order of tiles changes a result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

struct ProductShape {
  std::int64_t m, n, k;
  bool transpose_x = false, transpose_w = false;
  MathMode math = MathMode::float32;
  DType dtype = DType::float32;
  bool is_one_tile = false;  // one of so many products that they need not be cut
};

template <class T>
struct ProductOperands {
  const T* x;
  const T* w;
  const T* bias;  // or null
  T* out;
  ActivationKind activation = ActivationKind::none;
};

// The rows and columns of tiles, and the kernel: oneDNN's sgemm, our own panels (panel_product.h) or, in bf16 mode,
// bf16_product.h.
struct ProductPlan {
  int row_tiles = 1, column_tiles = 1;
  bool by_onednn = false;
  int tiles() const { return row_tiles * column_tiles; }
};
ProductPlan plan_product(const ProductShape& shape);

std::int64_t product_scratch_bytes(const ProductShape& shape);  // for a thread that runs tiles

// Computes one tile of the plan of this shape. Throws std::bad_alloc.
template <class T>
void run_product_tile(const ProductShape& shape, const ProductPlan& plan, const ProductOperands<T>& operands, int tile,
                      std::byte* scratch);

}  // namespace asyncgrad::detail
