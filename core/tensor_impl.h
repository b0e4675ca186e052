// The inside of a Tensor. Internal.
#pragma once

#include <atomic>
#include <cstdint>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Shared by all copies of one tensor; owns one handle of its storage.
struct TensorImpl {
  std::atomic<std::int32_t> references{1};
  DType dtype;
  Storage* storage;
  std::int64_t offset_bytes = 0;  // of the first element; not 0 for a slice
  Shape shape;
  Device device;
  Node* node = nullptr;  // of the tape; null: no gradient wanted. Owned: released by release_node
  // Used by autograd/: whether this is a slice or reshaped tensor, and its storage's version when its history was made.
  bool is_view = false;
  // Used by autograd/: whether a gradient is wanted, or was before requires_grad_(false).
  bool is_parameter = false;
  std::uint32_t view_version = 0;

  static void* operator new(std::size_t size) { return SmallObjects::take(size); }
  static void operator delete(void* memory, std::size_t size) { SmallObjects::give_back(memory, size); }
};

// The bytes of that many values. Throws Error for more than a machine can address.
std::int64_t checked_value_bytes(const Shape& shape, DType dtype);
// A tensor on `device` whose value some operation is going to write whole. Throws Error if there is no such device, or
// for more memory than a machine can address.
Tensor make_tensor(const Shape& shape, DType dtype, Device device);
// The same on a part of the CPU, in pinned memory. Brings a GPU into use if none is. Throws Error if there is none.
Tensor make_pinned_tensor(const Shape& shape, DType dtype, Device device);
// Makes the same of x's type, on its device.
inline Tensor make_like(const Tensor& x, const Shape& shape) { return make_tensor(shape, x.dtype(), x.device()); }
// A tensor that shares the storage of `base`, `offset` elements further on, without history.
Tensor make_view(const TensorImpl& base, const Shape& shape, std::int64_t offset = 0);
inline Tensor make_view(const Tensor& base, const Shape& shape, std::int64_t offset = 0) {
  return make_view(*base.impl(), shape, offset);
}

// Says what the program uses the tensor's storage for.
inline void note_use(const Tensor& tensor, StorageUse use) {
  tensor.impl()->storage->use.store(use, std::memory_order_relaxed);
}

// Throws Error("[operation] a tensor that holds nothing") for Tensor{}.
inline const TensorImpl& checked_impl(const Tensor& tensor, const char* operation) {
  if (!tensor.defined()) throw_undefined(operation);
  return *tensor.impl();
}

// Gives up a tensor's share of its node. Defined in autograd/.
void release_node(Node* node);

}  // namespace asyncgrad::detail
