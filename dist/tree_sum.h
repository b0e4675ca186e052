// Sums over ranks. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "asyncgrad/core/dtype.h"

namespace asyncgrad::dist {

// Element-wise sum of the rows, of `elements` elements each, divided by `divisor` and written to `to`, which may be one
// of the rows; the others are overwritten. The sum is a balanced binary tree over the rows, in the element type: its bits
// depend on nothing else. `dtype` is float32, float64 or int64.
void tree_sum(std::span<std::byte* const> rows, std::byte* to, std::int64_t elements, DType dtype, int divisor);

// Adds the terms, of `elements` elements each, to `to`, the last one first: to = terms[0] + (terms[1] + (… + to)).
void add_terms(std::span<const std::byte* const> terms, std::byte* to, std::int64_t elements, DType dtype);

}  // namespace asyncgrad::dist
