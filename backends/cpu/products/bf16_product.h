// Products whose operands are rounded to bf16. Internal.
//
// Sums are float32. Bits depend on the kind of processor and on whether it has tiles of bf16 (AMX), not on threads.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/products/panel_product.h"

namespace asyncgrad::detail {

// True if this processor multiplies tiles of bf16 and the system permits it.
bool has_bf16_tiles();

// The scratch bytes that bf16_product needs for blocks of up to this size.
std::int64_t bf16_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// Computes the block; bias_column is 1. `scratch` is 64-byte aligned. Throws Error if oneDNN finds no memory.
void bf16_product(const PanelProduct<float>& product, void* scratch);

// The form of bf16_product for processors without tiles: float32 products of rounded copies.
std::int64_t rounded_scratch_bytes();
void product_of_rounded(const PanelProduct<float>& product, void* scratch);

}  // namespace asyncgrad::detail
