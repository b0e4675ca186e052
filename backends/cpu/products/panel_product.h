// Products by our own loops: all float64 products, and small float32 ones, where a call of oneDNN costs more than the
// work. Internal.
//
// Every element is one chain of fused multiply-adds over k, in order, so that neither blocks nor tiles change its
// bits (rows times columns of length one apart, see panel_product).
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// A block of a product: out (m, n) = relu?(x w + bias). Strides are in elements; w_row or w_column is 1.
template <class T>
struct PanelProduct {
  std::int64_t m, n, k;
  const T* x;
  std::int64_t x_row, x_column;
  const T* w;
  std::int64_t w_row, w_column;
  T* out;
  std::int64_t out_row;          // columns are next to each other
  const T* bias = nullptr;       // null for none
  std::int64_t bias_column = 1;  // 0 if it is the same for all columns
  bool relu = false;
};

// Writing sums of at most so many terms takes longer than adding them up.
inline constexpr std::int64_t few_terms = 8;

// The scratch bytes that panel_product needs for a product with this k, under any instruction set.
std::int64_t panel_scratch_bytes(std::int64_t k);

// Computes the block with the widest vectors of this machine. `scratch` has panel_scratch_bytes(k), 64-byte aligned.
void panel_product(const PanelProduct<float>& product, void* scratch);
void panel_product(const PanelProduct<double>& product, void* scratch);

// Does the same in scratch memory of its own, where oneDNN's kernels are missing (onednn.h). That decision is final, so
// that a product's bits stay the same as long as the process lives. Throws std::bad_alloc.
void panel_product_for_onednn(const PanelProduct<float>& product);

// Completes a block whose product is in out: out = relu?(out + bias).
void add_bias(const PanelProduct<float>& product);

}  // namespace asyncgrad::detail
