// Values in the host's memory, shared with other libraries without a copy.
//
// A program that shares memory with queued operations orders its own accesses. It reads values after a wait for the
// tensor, or when is_ready() says so; and it writes while no queued operation reads or writes them, for example after
// waits for the results of those. Operations that are queued later see what it has written.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

namespace detail {
// host_data(), of a tensor of this type.
void* host_data_of(DType dtype, const Tensor& tensor);
}  // namespace detail

// The address of the first value of a tensor on the CPU; values are row major. Blocks until they are computed, and
// throws what made them fail. The address is valid as long as a handle of the tensor exists. Operations that are queued
// later see what the program writes there, and queued operations that write the tensor change it. Throws Error for a
// tensor on a GPU, and under Schedule::dry_run.
void* host_data(const Tensor& tensor);

// The same as a span of all values, for as long as a handle of the tensor exists. Throws Error, too, if T is not the
// tensor's type.
template <class T>
std::span<T> host_values(const Tensor& tensor) {
  T* const data = static_cast<T*>(detail::host_data_of(dtype_of<T>, tensor));
  return {data, static_cast<std::size_t>(tensor.numel())};
}

// A tensor on `device`, a part of the CPU, whose values are at `data`, row major, in memory that stays the caller's:
// nothing is copied, memory figures and the budget do not count it, and operations in place write there. A bool is a
// byte that is 0 or 1. `release` is called when neither a handle nor a queued operation uses it any more, on any thread;
// it may not throw, wait or queue. Null releases nothing. Does not block. Throws Error, and does not call `release`, for
// a device that is no part of the CPU, for null `data` where there are elements, for an address that is not aligned for
// the type, and for more memory than a machine can address.
Tensor from_host_memory(void* data, DType dtype, const Shape& shape, std::function<void()> release,
                        Device device = DeviceType::cpu);

// The same of shape.numel() elements of type T, with an owner that keeps the memory: a share of it is given up where
// `release` would be called. Null: the memory outlives the tensor and all queued operations.
//
//   const auto values = std::make_shared<std::vector<float>>(6);
//   const ag::Tensor x = ag::from_host_memory(values->data(), {2, 3}, values);
template <class T>
Tensor from_host_memory(T* data, const Shape& shape, std::shared_ptr<const void> owner,
                        Device device = DeviceType::cpu) {
  static_assert(!std::is_const_v<T>, "operations may write there");
  return from_host_memory(
      data, dtype_of<T>, shape, [held = std::move(owner)] {}, device);
}

}  // namespace asyncgrad
