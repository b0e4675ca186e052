#include "asyncgrad/core/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <type_traits>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/read_watch.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

// Appends `values`, seen as `shape`, in nested brackets. For a long axis it appends only the ends.
template <class T>
void append_values(std::string& text, const T* values, const Shape& shape, int axis) {
  if (axis == shape.rank()) {
    if constexpr (std::is_integral_v<T>) {
      text += fmt::format("{}", *values);
    } else {
      text += fmt::format("{:g}", static_cast<double>(*values));
    }
    return;
  }
  constexpr std::int64_t ends = 3;
  const std::int64_t stride = shape.numel(axis + 1, shape.rank());
  text += '[';
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += axis + 1 == shape.rank() ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    if (i == ends && shape[axis] > 2 * ends + 1) {
      text += "…";
      i = shape[axis] - ends - 1;
      continue;
    }
    append_values(text, values + i * stride, shape, axis + 1);
  }
  text += ']';
}

template <class T>
std::string values_str(const Tensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.numel());
  const std::unique_ptr<T[]> values(new T[count]);
  tensor.copy_to_host(values.get(), tensor.numel(), dtype_of<T>, "str");
  std::string text;
  append_values(text, values.get(), tensor.shape(), 0);
  return text;
}

void check_exist(const char* operation, const Location& where) {
  if (!detail::Engine::get().queue().is_dry_run()) return;
  const CallSite site(where);
  throw_error(operation, "values do not exist under Schedule::dry_run; set another schedule to compute them");
}

// Does as checked_impl() does. The call site ends before the wait, because a waiting thread computes operations of
// other lines.
const detail::TensorImpl& impl_at(const Tensor& tensor, const char* operation, const Location& where) {
  const CallSite site(where);
  return detail::checked_impl(tensor, operation);
}

// Does the same for `count` elements of a type that can be read.
const detail::TensorImpl& checked_values(const Tensor& tensor, std::int64_t count, DType dtype, const char* operation,
                                         const Location& where) {
  const CallSite site(where);
  const detail::TensorImpl& impl = detail::checked_impl(tensor, operation);
  if (impl.dtype != dtype) {
    throw_error(
        operation,
        fmt::format("the tensor is {}, not {}; x{} converts it", name(impl.dtype), name(dtype), detail::to_str(dtype)),
        ErrorKind::type);
  }
  if (impl.shape.numel() != count) {
    throw_error(operation, fmt::format("the tensor has {} elements, shape {}; {} reads all of them", impl.shape.numel(),
                                       impl.shape.str(), detail::in_program("to_vector<T>()", "numpy()")));
  }
  check_exist(operation, where);
  return impl;
}

}  // namespace

Tensor::Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
  // Relaxed, because the source's own reference keeps the tensor alive meanwhile.
  if (impl_ != nullptr) impl_->references.fetch_add(1, std::memory_order_relaxed);
}

Tensor& Tensor::operator=(const Tensor& other) & noexcept {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}

void Tensor::drop() {
  // Release: what this thread did with the tensor happens before its deletion. Acquire, for the thread that deletes it:
  // it sees what all others did.
  // The only holder needs no decrement, because no other thread can copy its handle now.
  if (impl_->references.load(std::memory_order_acquire) != 1 &&
      impl_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (impl_->node != nullptr) detail::release_node(impl_->node);
  detail::drop_handle(*impl_->storage);
  delete impl_;
}

const Shape& Tensor::shape() const { return detail::checked_impl(*this, "shape").shape; }
DType Tensor::dtype() const { return detail::checked_impl(*this, "dtype").dtype; }
Device Tensor::device() const { return detail::checked_impl(*this, "device").device; }

void Tensor::wait(Location where) const {
  const detail::TensorImpl& impl = impl_at(*this, "wait", where);
  detail::Engine::get().front_end().wait(*impl.storage);
}

bool Tensor::is_ready(Location where) const {
  return detail::Engine::get().front_end().is_finished(*impl_at(*this, "is_ready", where).storage);
}

double Tensor::item(Location where) const {
  return detail::visit_dtype(impl_at(*this, "item", where).dtype,
                             [&]<class T>(T) { return static_cast<double>(item<T>(where)); });
}

std::string Tensor::str() const {
  if (!defined()) return "Tensor{}";
  const std::string values = detail::visit_dtype(dtype(), [this]<class T>(T) { return values_str<T>(*this); });
  return fmt::format("{}\n{} {} on {}", values, shape().str(), name(dtype()), device().str());
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

Tensor Tensor::from(const std::vector<bool>& values, const Shape& shape, Device device, Location where) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());  // a vector of bool has bits
  return from_bytes(bytes.data(), bytes.size(), DType::boolean, shape, device, where);
}

Tensor Tensor::from(std::initializer_list<Scalar> values, const Shape& shape, Device device, Location where) {
  const CallSite site(where);
  for (const Scalar& value : values) value.check_fits(default_dtype(), "from");
  std::vector<double> numbers;
  for (const Scalar& value : values) numbers.push_back(value.as_double());
  if (default_dtype() == float64) return from(numbers, shape, device, where);
  return from(std::vector<float>(numbers.begin(), numbers.end()), shape, device, where);
}

Tensor Tensor::from_bytes(const void* values, std::size_t count, DType dtype, const Shape& shape, Device device,
                          Location where) {
  const CallSite site(where);
  if (!std::cmp_equal(count, shape.numel())) {
    throw_error("from", fmt::format("{} values do not fill the shape {} of {}", count, shape.str(), shape.numel()));
  }
  // A device with memory of its own gets the values by a queued copy from a tensor on the CPU.
  if (detail::device_state(device).is_asynchronous) {
    const Tensor on_host = from_bytes(values, count, dtype, shape, DeviceType::cpu, where);
    Tensor tensor = detail::make_tensor(shape, dtype, device);
    detail::submit(detail::Op::copy, {detail::writes(tensor), detail::reads(on_host)}, detail::NoAttributes{}, where);
    return tensor;
  }
  Tensor tensor = detail::make_tensor(shape, dtype, device);
  detail::ReadWatch::note_made(*tensor.impl()->storage);
  detail::Engine::get().front_end().hand_over(*tensor.impl()->storage, shape, values, count * size_bytes(dtype), where);
  return tensor;
}

void Tensor::copy_to_host(void* values, std::int64_t count, DType dtype, const char* operation,
                          const Location& where) const {
  const detail::TensorImpl& impl = checked_values(*this, count, dtype, operation, where);
  if (detail::state_of(*impl.storage).is_asynchronous) {
    Tensor on_host = detail::make_tensor(impl.shape, dtype, DeviceType::cpu);
    detail::submit(detail::Op::copy, {detail::writes(on_host), detail::reads(*this)}, detail::NoAttributes{}, where);
    return on_host.copy_to_host(values, count, dtype, operation, where);
  }
  wait();
  check_exist(operation, where);  // another thread may have begun a dry run
  if (count == 0) return;
  std::memcpy(values, impl.storage->data + impl.offset_bytes, static_cast<std::size_t>(count) * size_bytes(dtype));
}

namespace detail {

std::int64_t checked_value_bytes(const Shape& shape, DType dtype) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 48;
  if (shape.numel() > max_bytes / static_cast<std::int64_t>(size_bytes(dtype))) {
    throw_error("tensor", fmt::format("{} of {} is more memory than a machine can address", shape.str(), name(dtype)),
                ErrorKind::memory);
  }
  return value_bytes(shape, dtype);
}

Tensor make_tensor(const Shape& shape, DType dtype, Device device) {
  const std::int64_t value_bytes = checked_value_bytes(shape, dtype), bytes = rounded_bytes(value_bytes);
  DeviceState& state = device_state(device);
  std::unique_ptr<Storage> storage(new Storage{.size_bytes = bytes, .value_bytes = value_bytes, .device = &state});
  Tensor tensor(new TensorImpl{.dtype = dtype, .storage = storage.get(), .shape = shape, .device = device});
  static_cast<void>(storage.release());  // the tensor owns it now
  state.serial_live.add(bytes);
  return tensor;
}

namespace {

// A GPU that is in use and has not failed, or the first one.
DeviceState& gpu_that_pins() {
  for (int index = 0; index < Devices::max_of_a_type; ++index) {
    DeviceState* const gpu = Devices::find({DeviceType::cuda, index});
    if (gpu != nullptr && gpu->failure.load(std::memory_order_acquire) == nullptr) return *gpu;
  }
  try {
    return device_state(DeviceType::cuda);
  } catch (const Error& error) {
    throw_error("pin_memory",
                fmt::format("memory is pinned for copies between it and a GPU, and {}; without one, leave "
                            "pin_memory() out",
                            error.parts().message));
  }
}

void prepare_to_pin(DeviceState& device) {
  if (device.allocator.has_pinned()) return;
  const DeviceState& gpu = gpu_that_pins();
  MemorySource* const source = gpu.source.pinned();
  if (source == nullptr) throw_error("pin_memory", fmt::format("{} cannot pin memory", gpu.device.str()));
  device.allocator.use_pinned(*source);
}

}  // namespace

Tensor make_pinned_tensor(const Shape& shape, DType dtype, Device device) {
  prepare_to_pin(device_state(device));
  Tensor tensor = make_tensor(shape, dtype, device);
  tensor.impl()->storage->is_pinned = true;
  return tensor;
}

Tensor make_view(const TensorImpl& base, const Shape& shape, std::int64_t offset) {
  Tensor view(
      new TensorImpl{.dtype = base.dtype,
                     .storage = base.storage,
                     .offset_bytes = base.offset_bytes + offset * static_cast<std::int64_t>(size_bytes(base.dtype)),
                     .shape = shape,
                     .device = base.device});
  add_handle(*base.storage);
  return view;
}

}  // namespace detail

}  // namespace asyncgrad
