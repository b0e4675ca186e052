#include "tests/backends/cuda/fake_gpus.h"

#include <array>
#include <deque>
#include <memory>
#include <utility>

#include "asyncgrad/backends/cuda/memory.h"
#include "asyncgrad/backends/cuda/queue.h"
#include "asyncgrad/core/engine/engine.h"
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

void launch(const Kernel& kernel, const KernelCall& call) {
  api_in_use->launch(cuda::stream_of(call), [run = late_run(kernel, call)] {
    const std::uint64_t previous = detail::enter_thread(cpu());
    run();
    detail::leave_thread(cpu(), previous);
  });
}

// The CPU's kernels. Each has a function of its own, because a call does not say which kernel it is for.
template <std::size_t op>
void run(const KernelCall& call, int) {
  launch(cpu().kernels[op], call);
}
template <std::size_t formula>
void run_elementwise(const KernelCall& call, int) {
  launch(cpu().elementwise[formula], call);
}
void run_copy(const KernelCall& call, int tile) {
  constexpr auto op = static_cast<std::size_t>(detail::Op::copy);
  const bool stays = call.device(0) == call.device(1);
  return stays && call.dtype(0) != call.dtype(1) ? run<op>(call, tile) : cuda::run_copy(call, tile);
}

Backend backend_on_cpu() {
  Backend backend = cpu();
  backend.name = "fake cuda";
  const auto set = [](Kernel& kernel, auto function) {
    kernel.prepare = nullptr;
    if (kernel.run != nullptr) kernel.run = function;
  };
  [&]<std::size_t... op>(std::index_sequence<op...>) { (set(backend.kernels[op], run<op>), ...); }
  (std::make_index_sequence<detail::op_count>());
  [&]<std::size_t... formula>(std::index_sequence<formula...>) {
    (set(backend.elementwise[formula], run_elementwise<formula>), ...);
  }
  (std::make_index_sequence<formulas::count>());
  backend.kernels[static_cast<std::size_t>(detail::Op::copy)] = {.run = run_copy};
  backend.make_queue = [](Device device, int index) { return cuda::make_queue(gpu_of(device), index); };
  backend.memory = [](Device device) -> detail::MemorySource& { return *new cuda::Memory(gpu_of(device)); };
  return backend;
}

}  // namespace

FakeGpus::FakeGpus(const FakeApiOptions& options) : api_(apis.emplace_back(options)) {
  api_in_use = &api_;
  gpus.fill(nullptr);
  detail::Engine::get().replace_backend(DeviceType::cuda, &backends.emplace_back(backend_on_cpu()));
}

FakeGpus::~FakeGpus() {
  end();
  api_.end_memory();
}

void FakeGpus::end() {
  api_.hold_kernels(false);
  detail::Engine::get().replace_backend(DeviceType::cuda, nullptr);
}

}  // namespace asyncgrad::tests
