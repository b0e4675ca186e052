#include "asyncgrad/backends/cuda/api.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {

FirstGpu::FirstGpu(bool) {
  detail::cuda::Api& api = detail::cuda::cuda_api();
  int count = 0;
  const cudaError_t status = api.get_device_count(&count);
  if (status != cudaSuccess) {
    missing_ = "there is no GPU here: " + api.str(status);
  } else if (count == 0) {
    missing_ = "there is no GPU here";
  }
}

}  // namespace asyncgrad::tests
