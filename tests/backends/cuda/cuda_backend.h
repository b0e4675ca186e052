// CUDA's own table of kernels, also where the library is built without it.
#pragma once

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

const Backend* make_cuda_backend();  // of backends/cuda/backend.cpp
inline const Backend& cuda_backend() { return *make_cuda_backend(); }

}  // namespace asyncgrad::detail
