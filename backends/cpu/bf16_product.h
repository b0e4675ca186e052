// Products whose operands are rounded to bf16. Internal.
//
// Sums are float32. Whether a processor has tiles of bf16 (AMX) changes bits, and so does its kind; threads do not.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/panel_product.h"

namespace asyncgrad::detail {

// Whether this processor multiplies tiles of bf16, and the system lets us.
bool has_bf16_tiles();

// What bf16_product needs for blocks of at most this size.
std::int64_t bf16_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// Computes the block; bias_column is 1. `scratch` is 64-byte aligned. Throws Error if oneDNN finds no memory.
void bf16_product(const PanelProduct<float>& product, void* scratch);

// What bf16_product does where there are no tiles: float32 products of rounded copies.
std::int64_t rounded_scratch_bytes();
void product_of_rounded(const PanelProduct<float>& product, void* scratch);

}  // namespace asyncgrad::detail
