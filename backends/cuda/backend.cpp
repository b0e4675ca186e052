#include <map>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/found_gpus.h"
#include "asyncgrad/backends/cuda/of_gpus.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

const Backend* make_cuda_backend();  // called by make_backend.cpp

namespace cuda {

namespace {

constinit Mutex gpus_mutex;
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

constinit const Kernel any_copy{.run = run_any_copy};

// `source` has no kernel here, because it makes data on the host.
constexpr auto table = kernel_table(
    KernelRow{Op::fill, &kernels::fill}, KernelRow{Op::arange, &kernels::arange},
    KernelRow{Op::uniform, &kernels::uniform}, KernelRow{Op::normal, &kernels::normal},
    KernelRow{Op::randint, &kernels::randint}, KernelRow{Op::permutation, &kernels::permutation},
    KernelRow{Op::copy, &any_copy}, by_formula(), KernelRow{Op::matmul, &kernels::matmul},
    KernelRow{Op::dense, &kernels::dense}, KernelRow{Op::dense_grad, &kernels::dense_grad},
    KernelRow{Op::sum, &kernels::sum}, made_of_others(Op::sum_parts), made_of_others(Op::sum_of_parts),
    KernelRow{Op::prod, &kernels::prod}, made_of_others(Op::prod_parts), made_of_others(Op::prod_of_parts),
    KernelRow{Op::prod_grad, &kernels::prod_grad}, KernelRow{Op::max, &kernels::max}, KernelRow{Op::min, &kernels::min},
    KernelRow{Op::any, &kernels::any}, KernelRow{Op::all, &kernels::all}, KernelRow{Op::max_grad, &kernels::max_grad},
    KernelRow{Op::argmax, &kernels::argmax}, KernelRow{Op::argmin, &kernels::argmin},
    KernelRow{Op::argsort, &kernels::argsort}, KernelRow{Op::cumsum, &kernels::cumsum},
    KernelRow{Op::softmax, &kernels::softmax}, KernelRow{Op::softmax_grad, &kernels::softmax_grad},
    KernelRow{Op::log_softmax, &kernels::log_softmax}, KernelRow{Op::log_softmax_grad, &kernels::log_softmax_grad},
    KernelRow{Op::cross_entropy, &kernels::cross_entropy},
    KernelRow{Op::cross_entropy_grad, &kernels::cross_entropy_grad}, KernelRow{Op::ctc, &kernels::ctc},
    KernelRow{Op::ctc_grad, &kernels::ctc_grad}, KernelRow{Op::layer_norm, &kernels::layer_norm},
    KernelRow{Op::layer_norm_grad, &kernels::layer_norm_grad}, KernelRow{Op::group_norm, &kernels::group_norm},
    KernelRow{Op::group_norm_grad, &kernels::group_norm_grad}, KernelRow{Op::batch_norm, &kernels::batch_norm},
    KernelRow{Op::batch_norm_grad, &kernels::batch_norm_grad}, KernelRow{Op::conv, &kernels::conv},
    KernelRow{Op::conv_input, &kernels::conv_input}, KernelRow{Op::conv_weight, &kernels::conv_weight},
    KernelRow{Op::max_pool, &kernels::max_pool}, KernelRow{Op::max_pool_grad, &kernels::max_pool_grad},
    KernelRow{Op::avg_pool, &kernels::avg_pool}, KernelRow{Op::avg_pool_grad, &kernels::avg_pool_grad},
    KernelRow{Op::dropout, &kernels::dropout}, KernelRow{Op::attention, &kernels::attention},
    KernelRow{Op::attention_grad, &kernels::attention_grad}, KernelRow{Op::recurrent_cell, &kernels::recurrent_cell},
    KernelRow{Op::recurrent_cell_grad, &kernels::recurrent_cell_grad}, KernelRow{Op::recurrent, &kernels::recurrent},
    KernelRow{Op::recurrent_grad, &kernels::recurrent_grad}, KernelRow{Op::strided_copy, &kernels::strided_copy},
    KernelRow{Op::concat, &kernels::concat}, KernelRow{Op::take, &kernels::take},
    KernelRow{Op::take_grad, &kernels::take_grad}, KernelRow{Op::gather, &kernels::gather},
    KernelRow{Op::scatter_add, &kernels::scatter_add}, KernelRow{Op::put, &kernels::put},
    KernelRow{Op::first_places, &kernels::first_places}, KernelRow{Op::ravel_multi_index, &kernels::ravel_multi_index},
    KernelRow{Op::one_hot, &kernels::one_hot}, KernelRow{Op::triangle, &kernels::triangle},
    KernelRow{Op::custom, &kernels::custom}, not_yet(Op::source), not_yet(Op::collective),
    KernelRow{Op::update, &kernels::update}, KernelRow{Op::update_rows, &kernels::update_rows});

constinit Mutex found_mutex;
// The GPUs of the machine. Asked for once, as they stay the same, and once more as long as there are none.
std::vector<DeviceDescription>* found ASYNCGRAD_GUARDED_BY(found_mutex) = nullptr;

std::vector<DeviceDescription> gpus_of_machine(std::string& why_none) {
  const MutexLock lock(found_mutex);
  if (found == nullptr) found = new std::vector<DeviceDescription>;
  if (found->empty()) *found = found_gpus(cuda_api(), why_none);
  return *found;
}

// A thread holds them while CUDA looks for the GPUs, which takes a second.
[[maybe_unused]] const bool are_held_at_fork = [] {
  ForkLocks::add(gpus_mutex, ForkLocks::Kind::outer);
  ForkLocks::add(found_mutex, ForkLocks::Kind::outer);
  return true;
}();

Backend make_table() {
  Backend backend;
  backend.name = "cuda";
  fill_of_gpus<gpu_of>(backend);
  backend.devices = gpus_of_machine;
  fill(backend, table);
  backend.elementwise.fill(elementwise_kernel);
  return backend;
}

}  // namespace
}  // namespace cuda

const Backend* make_cuda_backend() {
  static const Backend backend = cuda::make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
