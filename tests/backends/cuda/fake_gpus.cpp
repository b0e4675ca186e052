#include "tests/backends/cuda/fake_gpus.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <utility>

#include "asyncgrad/backends/cuda/of_gpus.h"
#include "asyncgrad/core/backend/custom_kernel.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/backends/cuda/cuda_backend.h"
#include "tests/backends/cuda/emulator/emulator.h"
#include "tests/support/late_run.h"

namespace asyncgrad::tests {

namespace {

namespace cuda = detail::cuda;
using detail::Backend;
using detail::Kernel;
using detail::KernelCall;

// These hold all that were ever made, because the engine keeps pointers to them for as long as the process lives.
std::deque<FakeApi>& apis = *new std::deque<FakeApi>;
std::deque<Backend>& backends = *new std::deque<Backend>;
std::deque<cuda::Gpu>& all_gpus = *new std::deque<cuda::Gpu>;
FakeApi* api_in_use = nullptr;  // set while no queue is there
std::array<cuda::Gpu*, 16> gpus{};

cuda::Gpu& gpu_of(Device device) {
  cuda::Gpu*& gpu = gpus[static_cast<std::size_t>(device.index)];
  if (gpu == nullptr) gpu = &all_gpus.emplace_back(*api_in_use, device.index);
  return *gpu;
}

const Backend& cpu() { return *detail::make_backend(DeviceType::cpu); }

// A kernel of the CPU. Each has a function of its own, because a call does not say which kernel it is for.
template <std::size_t op>
void run_on_cpu(const KernelCall& call, int) {
  api_in_use->launch(cuda::stream_of(call), [run = late_run(cpu().kernels[op], call)] {
    const std::uint64_t previous = detail::enter_thread(cpu());
    run();
    detail::leave_thread(cpu(), previous);
  });
}

constexpr auto custom = static_cast<std::size_t>(detail::Op::custom);

// The program's function for a GPU, or that for the CPU where it brings none.
void run_program(const KernelCall& call, int tile) {
  const bool is_for_gpu = detail::custom_kernel(call).run_on_cuda != nullptr;
  is_for_gpu ? detail::cuda_backend().kernels[custom].run(call, tile) : run_on_cpu<custom>(call, tile);
}

// Gives an operation the CPU's kernel where CUDA has none.
template <std::size_t op>
void fill_gap(Backend& backend) {
  Kernel& kernel = backend.kernels[op];
  if (kernel.run != nullptr) return;
  kernel = cpu().kernels[op];
  kernel.prepare = nullptr;
  if (kernel.run != nullptr) kernel.run = run_on_cpu<op>;
}

Backend emulated_backend() {
  Backend backend = detail::cuda_backend();
  backend.name = "emulated cuda";
  [&]<std::size_t... op>(std::index_sequence<op...>) { (fill_gap<op>(backend), ...); }
  (std::make_index_sequence<detail::op_count>());
  backend.kernels[custom].run = run_program;
  cuda::fill_of_gpus<gpu_of>(backend);
  return backend;
}

}  // namespace

FakeGpus::FakeGpus(const FakeApiOptions& options) : api_(apis.emplace_back(options)) {
  api_in_use = &api_;
  gpus.fill(nullptr);
  if (options.values_at_page_ends) setenv("ASYNCGRAD_VALUES_AT_PAGE_ENDS", "1", 1);
  emulator::set_streams(
      [](cudaStream_t stream, std::function<void()> task) { api_in_use->launch(stream, std::move(task)); });
  detail::Engine::get().replace_backend(DeviceType::cuda, &backends.emplace_back(emulated_backend()));
}

FakeGpus::~FakeGpus() {
  end();
  api_.end_memory();
}

void FakeGpus::end() {
  api_.hold_kernels(false);
  unsetenv("ASYNCGRAD_VALUES_AT_PAGE_ENDS");
  detail::Engine::get().replace_backend(DeviceType::cuda, nullptr);
}

}  // namespace asyncgrad::tests

namespace asyncgrad::detail::cuda {

// In place of backends/cuda/api.cpp.
Api& cuda_api() { return *tests::api_in_use; }

}  // namespace asyncgrad::detail::cuda
