// Products of bf16 by the tile registers of x86 (AMX). Internal.
//
// Only bf16_tiles.cpp is compiled for processors with AMX and AVX-512, so it shares no inline function with other
// files.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/products/panel_product.h"

namespace asyncgrad::detail {

// True if the system has granted the tile registers. It is asked only once.
bool tiles_are_there();

std::int64_t tiles_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// Computes as bf16_product does. Call it only if tiles_are_there().
void multiply_by_tiles(const PanelProduct<float>& product, void* scratch);

}  // namespace asyncgrad::detail
