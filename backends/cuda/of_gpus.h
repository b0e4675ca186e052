// The functions of a backend that concern its devices. Internal.
#pragma once

#include "asyncgrad/backends/cuda/memory.h"
#include "asyncgrad/backends/cuda/queue.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

// `gpu_of` returns the GPU that a device is, or throws Error.
template <Gpu& (*gpu_of)(Device)>
void fill_of_gpus(Backend& backend) {
  backend.make_queue = [](Device device, int index) { return make_queue(gpu_of(device), index); };
  backend.memory = [](Device device) -> MemorySource& { return *new Memory(gpu_of(device)); };  // as long as the state
  backend.free_bytes = [](Device device) { return gpu_of(device).free_bytes(); };
  backend.synchronize = [](Device device) { gpu_of(device).synchronize(); };
  backend.copy_now = [](Device device, void* to, const void* from, std::size_t size) {
    gpu_of(device).copy_now(to, from, size);
  };
}

}  // namespace asyncgrad::detail::cuda
