// Products of bf16 by the tile registers of x86 (AMX). Internal.
//
// bf16_tiles.cpp alone is compiled for processors with AMX and AVX-512, so it shares no inline function with others.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/panel_product.h"

namespace asyncgrad::detail {

// Asks the system for the tile registers, once for the process.
bool tiles_are_there();

std::int64_t tiles_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// As bf16_product. Only where tiles_are_there().
void multiply_by_tiles(const PanelProduct<float>& product, void* scratch);

}  // namespace asyncgrad::detail
