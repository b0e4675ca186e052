#include "asyncgrad/backends/cuda/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "asyncgrad/backends/cuda/found_gpus.h"
#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/forks.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr cudaError_t refusals[] = {cudaErrorInvalidValue,
                                    cudaErrorMemoryAllocation,
                                    cudaErrorInvalidConfiguration,
                                    cudaErrorInvalidPitchValue,
                                    cudaErrorInvalidDevicePointer,
                                    cudaErrorInvalidMemcpyDirection,
                                    cudaErrorInvalidDeviceFunction,
                                    cudaErrorInvalidKernelImage,
                                    cudaErrorNoKernelImageForDevice,
                                    cudaErrorPeerAccessUnsupported,
                                    cudaErrorPeerAccessAlreadyEnabled,
                                    cudaErrorPeerAccessNotEnabled,
                                    cudaErrorInvalidPtx,
                                    cudaErrorUnsupportedPtxVersion,
                                    cudaErrorJitCompilerNotFound,
                                    cudaErrorLaunchOutOfResources,
                                    cudaErrorCooperativeLaunchTooLarge,
                                    cudaErrorNotPermitted,
                                    cudaErrorNotSupported,
                                    cudaErrorInvalidClusterSize,
                                    cudaErrorStreamCaptureUnsupported,
                                    cudaErrorStreamCaptureInvalidated,
                                    cudaErrorStreamCaptureMerge,
                                    cudaErrorStreamCaptureUnmatched,
                                    cudaErrorStreamCaptureUnjoined,
                                    cudaErrorStreamCaptureIsolation,
                                    cudaErrorStreamCaptureImplicit,
                                    cudaErrorStreamCaptureWrongThread,
                                    cudaErrorGraphExecUpdateFailure};
// With these a call that pins or unpins memory has done nothing, either: the system, or the memory's state, forbids it.
constexpr cudaError_t refusals_to_pin[] = {cudaErrorOperatingSystem, cudaErrorHostMemoryAlreadyRegistered,
                                           cudaErrorHostMemoryNotRegistered};

}  // namespace

bool is_refusal(cudaError_t status) { return std::ranges::find(refusals, status) != std::end(refusals); }

Gpu::Gpu(Api& api, int index) : api_(api), index_(index) {
  const std::string name = Device(DeviceType::cuda, index).str();
  const ForksWaitForNothing forks;  // the driver may start a program that makes its files
  const cudaError_t status = api.get_device_count(&count_);
  if (status != cudaSuccess || index >= count_) {
    throw_error("device", fmt::format("there is no {} here: {}", name, why_there_is_none(api, status, count_)));
  }
  cudaDeviceProp properties{};
  require(api.get_device_properties(&properties, index));
  capability_ = capability_of(properties);
  const std::string refusal = why_refused(properties, name);
  if (!refusal.empty()) throw_error("device", refusal);
}

std::string Gpu::str(cudaError_t status) const { return described(api_, status, capability_); }

void Gpu::require(cudaError_t status) const {
  if (status == cudaSuccess) return;
  const std::string name = Device(DeviceType::cuda, index_).str();
  throw_error("device", fmt::format("{} does not come into use: {}", name, str(status)));
}

void Gpu::check_refusable(cudaError_t status) {
  if (is_refusal(status)) throw Error(str(status));
  check(status);
}

void Gpu::check(cudaError_t status) {
  note(status);
  // Acquire: note() has kept the GPU away from the host's memory.
  const cudaError_t failure = failure_.load(std::memory_order_acquire);
  if (failure != cudaSuccess) throw DeviceFailed(str(failure));
}

void Gpu::note(cudaError_t status) noexcept {
  if (status == cudaSuccess) return;
  const std::lock_guard lock(host_memory_);
  cudaError_t none = cudaSuccess;
  failure_.compare_exchange_strong(none, status, std::memory_order_release);
}

// The GPU as the calling thread's device, which has another one again afterwards: the thread is the program's.
class Gpu::Meanwhile {
 public:
  explicit Meanwhile(const Gpu& gpu) : gpu_(gpu) {
    gpu.require(gpu.api_.get_device(&before_));
    gpu.require(gpu.api_.set_device(gpu.index_));
  }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;
  ~Meanwhile() { gpu_.api_.set_device(before_); }

 private:
  const Gpu& gpu_;
  int before_ = 0;
};

std::int64_t Gpu::free_bytes() {
  const Meanwhile meanwhile(*this);
  std::size_t free = 0, total = 0;
  require(api_.get_memory_info(&free, &total));
  return static_cast<std::int64_t>(free);
}

bool Gpu::pin(void* memory, std::size_t size) {
  const Meanwhile meanwhile(*this);
  const cudaError_t status = api_.register_host(memory, size);
  if (status == cudaErrorMemoryAllocation) return false;
  check_pinning(status);
  return true;
}

bool Gpu::unpin(void* memory) noexcept {
  try {
    const Meanwhile meanwhile(*this);
    check_pinning(api_.unregister_host(memory));
    return true;
  } catch (...) {  // Error, or no memory for its message
    return false;
  }
}

void Gpu::synchronize() {
  const Meanwhile meanwhile(*this);
  const std::lock_guard no_captures(captures_);
  check_of_program(api_.synchronize_device());
}

void Gpu::copy_now(void* to, const void* from, std::size_t size) {
  const Meanwhile meanwhile(*this);
  const std::lock_guard no_captures(captures_);
  check_of_program(api_.copy_async(to, from, size, cudaStreamLegacy));
  check_of_program(api_.synchronize_device());
}

// Takes the status of a call that a thread of the program made. What CUDA refuses, while others capture for example, has
// no effect.
void Gpu::check_of_program(cudaError_t status) {
  if (status == cudaSuccess) return;
  if (!is_refusal(status)) note(status);
  throw_of_program(status);
}

void Gpu::check_pinning(cudaError_t status) {
  if (std::ranges::find(refusals_to_pin, status) != std::end(refusals_to_pin)) throw_of_program(status);
  check_of_program(status);
}

void Gpu::throw_of_program(cudaError_t status) const {
  throw_error("device", fmt::format("{}: {}", Device(DeviceType::cuda, index_).str(), str(status)));
}

void Gpu::copy_on_host(void* to, const void* from, std::size_t size, cudaStream_t stream) {
  // Acquire: the stream has finished with it.
  while (!host_copies_.empty() && host_copies_.front().is_done.load(std::memory_order_acquire)) {
    host_copies_.pop_front();
  }
  HostCopy& copy = host_copies_.emplace_back(*this, to, from, size);
  check(api_.launch_host_function(stream, run, &copy));
}

void Gpu::run(void* host_copy) {
  HostCopy& copy = *static_cast<HostCopy*>(host_copy);
  {
    const std::shared_lock lock(copy.gpu.host_memory_);
    if (copy.gpu.failure_.load(std::memory_order_relaxed) == cudaSuccess) std::memcpy(copy.to, copy.from, copy.size);
  }
  copy.is_done.store(true, std::memory_order_release);
}

}  // namespace asyncgrad::detail::cuda
