// The GPUs of the machine, before any is in use. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/backends/cuda/api.h"
#include "asyncgrad/core/devices.h"

namespace asyncgrad::detail::cuda {

// 75 for compute capability 7.5.
int capability_of(const cudaDeviceProp& properties);

// The reason why this build cannot use a GPU, or "".
std::string why_refused(const cudaDeviceProp& properties, const std::string& device);

// Returns why there is no GPU. `status`, `count`: what CUDA has answered when it was to count them.
std::string why_there_is_none(Api& api, cudaError_t status, int count);

// Returns what a status says. If it says that there are no kernels for the GPU, the text also says what to do.
std::string described(Api& api, cudaError_t status, int capability);

// Those that this build can use. `why_none` is set where there are none.
std::vector<DeviceDescription> found_gpus(Api& api, std::string& why_none);

}  // namespace asyncgrad::detail::cuda
