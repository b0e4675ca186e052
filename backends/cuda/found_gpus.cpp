#include "asyncgrad/backends/cuda/found_gpus.h"

#include <fmt/format.h>

#include "asyncgrad/core/forks.h"

namespace asyncgrad::detail::cuda {

namespace {

// The build sets it: the lowest one of the GPUs that this build has kernels for.
#ifndef ASYNCGRAD_LOWEST_CAPABILITY
#define ASYNCGRAD_LOWEST_CAPABILITY 0
#endif
constexpr int lowest_capability = ASYNCGRAD_LOWEST_CAPABILITY;

std::string version(int capability) { return fmt::format("{}.{}", capability / 10, capability % 10); }
std::string how_to_build(int capability) {
  return fmt::format("configure it with -DCMAKE_CUDA_ARCHITECTURES={} and a CUDA Toolkit that has them", capability);
}

}  // namespace

int capability_of(const cudaDeviceProp& properties) { return 10 * properties.major + properties.minor; }

std::string why_refused(const cudaDeviceProp& properties, const std::string& device) {
  constexpr int oldest = 70;  // for which kernels can be compiled
  const int capability = capability_of(properties);
  if (capability >= lowest_capability) return "";
  const std::string what_to_do =
      capability < oldest ? fmt::format("GPUs before {} cannot run them", version(oldest)) : how_to_build(capability);
  return fmt::format("{} has compute capability {}, and this build has kernels for {} and later ones; {}", device,
                     version(capability), version(lowest_capability), what_to_do);
}

std::string why_there_is_none(Api& api, cudaError_t status, int count) {
  if (status == cudaErrorInsufficientDriver) return "there is no driver for NVIDIA's GPUs here, or it is too old";
  if (status != cudaSuccess) return api.str(status);
  return count == 0 ? "there is no GPU here" : fmt::format("the number of GPUs is {}", count);
}

std::string described(Api& api, cudaError_t status, int capability) {
  switch (status) {
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
      return fmt::format("{}; if this build has no kernels for compute capability {}, {}", api.str(status),
                         version(capability), how_to_build(capability));
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
      return fmt::format(
          "{}; the driver compiles this build's kernels for compute capability {}: install a newer driver, or {}",
          api.str(status), version(capability), how_to_build(capability));
    default:
      return api.str(status);
  }
}

std::vector<DeviceDescription> found_gpus(Api& api, std::string& why_none) {
  std::vector<DeviceDescription> found;
  int count = 0;
  const ForksWaitForNothing forks;  // the driver may start a program that makes its files
  cudaError_t status = api.get_device_count(&count);
  why_none = why_there_is_none(api, status, count);
  for (int index = 0; status == cudaSuccess && index < count; ++index) {
    const Device device(DeviceType::cuda, index);
    cudaDeviceProp properties{};
    status = api.get_device_properties(&properties, index);
    const std::string refusal = status == cudaSuccess ? why_refused(properties, device.str()) : api.str(status);
    if (refusal.empty()) {
      found.push_back(
          {device, properties.name, static_cast<std::int64_t>(properties.totalGlobalMem), capability_of(properties)});
    } else if (index == 0) {
      why_none = refusal;
    }
  }
  return found;
}

}  // namespace asyncgrad::detail::cuda
