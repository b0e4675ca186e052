// The kernels of this backend, by family; backend.cpp puts them together. Internal.
#pragma once

#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/kernels.h"

namespace asyncgrad::detail::cuda {

void add_fill_kernels(Backend& backend);

}  // namespace asyncgrad::detail::cuda
