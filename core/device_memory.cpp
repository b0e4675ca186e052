#include "asyncgrad/core/device_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

void* detail::data_of(const Tensor& tensor, const char* operation) {
  const TensorImpl& impl = checked_impl(tensor, operation);
  const auto check_exist = [operation] {
    if (Engine::get().queue().is_dry_run()) throw_error(operation, "values do not exist under Schedule::dry_run");
  };
  check_exist();
  tensor.wait();
  check_exist();  // another thread may have begun a dry run
  if (expose(*impl.storage)) mark().wait();
  return impl.storage->data == nullptr ? nullptr : impl.storage->data + impl.offset_bytes;
}

void* device_data(const Tensor& tensor) { return detail::data_of(tensor, "device_data"); }

void synchronize(Device device) {
  const detail::Backend& backend = *detail::device_state(device).backend;
  if (backend.synchronize != nullptr) backend.synchronize(device);
}

void detail::synchronize_gpus() noexcept {
  for (int index = 0; index < Devices::max_of_a_type; ++index) {
    const Device gpu(DeviceType::cuda, index);
    if (Devices::find(gpu) == nullptr) continue;
    try {
      synchronize(gpu);
    } catch (const std::exception&) {  // it has failed, or refuses to wait
    }
  }
}

void copy_from_device_memory(const Tensor& to, const void* data) {
  void* const there = detail::data_of(to, "copy_from_device_memory");
  const auto size = static_cast<std::size_t>(detail::value_bytes(to.shape(), to.dtype()));
  if (size == 0) return;
  if (data == nullptr)
    throw_error("copy_from_device_memory", fmt::format("the address of {} elements is null", to.numel()));
  const detail::Backend& backend = *detail::device_state(to.device()).backend;
  if (backend.copy_now == nullptr) {
    std::memcpy(there, data, size);
  } else {
    backend.copy_now(to.device(), there, data, size);
  }
}

}  // namespace asyncgrad
