// Copies of adjacent elements into another type. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/dtype.h"

namespace asyncgrad::detail {

// Converts n elements by converted() (element_types.h).
using Conversion = void (*)(void* out, const void* in, std::int64_t n);

// The function for the best instruction set that this processor has.
Conversion conversion(DType to, DType from);

}  // namespace asyncgrad::detail
