#include <map>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/memory.h"
#include "asyncgrad/backends/cuda/queue.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

const Backend* make_cuda_backend();  // called by make_backend.cpp

namespace cuda {

namespace {

Mutex gpus_mutex;
// The GPUs in use, which live as long as the process.
std::map<int, Gpu>* gpus ASYNCGRAD_GUARDED_BY(gpus_mutex) = nullptr;

Gpu& gpu_of(Device device) {
  const MutexLock lock(gpus_mutex);
  if (gpus == nullptr) gpus = new std::map<int, Gpu>;
  return gpus->try_emplace(device.index, cuda_api(), device.index).first->second;
}

void run_any_copy(const KernelCall& call, int tile) {
  const bool stays = call.device(0) == call.device(1);
  return stays && call.dtype(0) != call.dtype(1) ? convert(call) : run_copy(call, tile);
}

Backend make_table() {
  Backend backend;
  backend.name = "cuda";
  backend.make_queue = [](Device device, int index) { return make_queue(gpu_of(device), index); };
  backend.memory = [](Device device) -> MemorySource& { return *new Memory(gpu_of(device)); };  // as long as the state
  add_custom_kernels(backend);
  add_elementwise_kernels(backend);
  add_fill_kernels(backend);
  add_indexing_kernels(backend);
  add_product_kernels(backend);
  add_random_kernels(backend);
  add_reduce_kernels(backend);
  add_softmax_kernels(backend);
  add_strided_copy_kernels(backend);
  add_update_kernels(backend);
  kernel_of(backend, Op::copy) = {.run = run_any_copy};
  return backend;
}

}  // namespace
}  // namespace cuda

const Backend* make_cuda_backend() {
  static const Backend backend = cuda::make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
