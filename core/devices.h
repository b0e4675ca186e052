// What there is to compute on. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/core/device.h"

namespace asyncgrad {

struct DeviceDescription {
  Device device;
  std::string name{};             // "NVIDIA H200"; of a CPU the processor's name
  std::int64_t memory_bytes = 0;  // of the GPU, or of the machine
  int capability = 0;             // CUDA's compute capability of a GPU, 90 for 9.0
};

// The devices that tensors may be on: the parts of the CPU, then the GPUs for which this build has kernels. It asks
// CUDA's driver, but brings no GPU into use. A child that forks afterwards cannot use GPUs: CUDA does not allow it.
std::vector<DeviceDescription> devices();

// The reason why devices() names no GPU; "" if it names one. "this library was built without CUDA", "no CUDA-capable
// device is detected (cudaErrorNoDevice)".
std::string why_no_gpu();

// The memory in bytes that the driver, or for a CPU the system, could still give to this process or others. Memory that
// memory_figures() counts as cached is not free. It brings a GPU into use, which takes some hundred MiB of its memory.
// Throws Error if there is no such device.
std::int64_t free_bytes(Device device = default_device());

}  // namespace asyncgrad
