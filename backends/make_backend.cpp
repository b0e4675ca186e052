#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Each is defined in its folder's backend.cpp.
const Backend* make_cpu_backend();
const Backend* make_cuda_backend();

const Backend* make_backend(DeviceType type) {
  if (type == DeviceType::cpu) return make_cpu_backend();
#ifdef ASYNCGRAD_CUDA
  return make_cuda_backend();
#else
  return nullptr;
#endif
}

}  // namespace asyncgrad::detail
