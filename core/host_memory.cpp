#include "asyncgrad/core/host_memory.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "asyncgrad/core/device_memory.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/read_watch.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/foreign.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace {

void check_address(const void* data, DType dtype, const Shape& shape) {
  const std::size_t alignment = detail::visit_dtype(dtype, []<class T>(T) { return alignof(T); });
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (data == nullptr && shape.numel() > 0) {
    throw_error("from_host_memory", fmt::format("the address of {} elements is null", shape.numel()));
  }
  if (address % alignment != 0) {
    throw_error("from_host_memory",
                fmt::format("the address {:#x} is no multiple of {}, as {} needs", address, alignment, name(dtype)));
  }
}

}  // namespace

void* detail::host_data_of(DType dtype, const Tensor& tensor) {
  const TensorImpl& impl = checked_impl(tensor, "host_values");
  if (impl.dtype != dtype) {
    throw_error("host_values", fmt::format("the tensor is {}, not {}", name(impl.dtype), name(dtype)), ErrorKind::type);
  }
  return host_data(tensor);
}

void* host_data(const Tensor& tensor) {
  const detail::TensorImpl& impl = detail::checked_impl(tensor, "host_data");
  if (detail::state_of(*impl.storage).is_asynchronous) {
    throw_error("host_data", fmt::format("the tensor is on {}; to(\"cpu\") copies it", impl.device.str()));
  }
  return detail::data_of(tensor, "host_data");
}

Tensor from_host_memory(void* data, DType dtype, const Shape& shape, std::function<void()> release, Device device) {
  detail::DeviceState& state = detail::device_state(device);
  if (state.is_asynchronous) throw_error("from_host_memory", fmt::format("{} is no part of the CPU", device.str()));
  check_address(data, dtype, shape);
  // The engine neither counts nor returns this memory.
  std::unique_ptr<detail::Storage> storage(new detail::Storage{.data = static_cast<std::byte*>(data),
                                                               .size_bytes = 0,
                                                               .value_bytes = detail::checked_value_bytes(shape, dtype),
                                                               .device = &state,
                                                               .has_value = true});
  std::unique_ptr<detail::TensorImpl> impl(
      new detail::TensorImpl{.dtype = dtype, .storage = storage.get(), .shape = shape, .device = device});
  detail::ReadWatch::note_made(*storage);
  detail::foreign::add(*storage, std::move(release));
  static_cast<void>(storage.release());  // the tensor owns it now
  return Tensor(impl.release());
}

}  // namespace asyncgrad
