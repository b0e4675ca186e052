// The GPUs of the machine, before any is in use. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/backends/cuda/api.h"
#include "asyncgrad/core/devices.h"

namespace asyncgrad::detail::cuda {

// The reason why this build cannot use a GPU, or "".
std::string why_refused(const cudaDeviceProp& properties, const std::string& device);

// Those that this build can use. `why_none` is set where there are none.
std::vector<DeviceDescription> found_gpus(Api& api, std::string& why_none);

}  // namespace asyncgrad::detail::cuda
