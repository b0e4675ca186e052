// Sums over ranks. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/dtype.h"

namespace asyncgrad::dist {

// Element-wise sum of `count` rows of `elements` elements each, one behind the other, which is left in the first row and
// divided by `divisor` there; the other rows are overwritten. The sum is a balanced binary tree over the rows, in the
// element type: its bits depend on nothing else. `dtype` is float32, float64 or int64.
void tree_sum(std::byte* rows, int count, std::int64_t elements, DType dtype, int divisor);

}  // namespace asyncgrad::dist
