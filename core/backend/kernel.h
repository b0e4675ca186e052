// Kernels: the arguments that a kernel gets, and the functions that it consists of. Internal.
//
// Every operand is contiguous. Outputs come first, then inputs. The front end has checked shapes, types and devices;
// what depends on values (indices) is checked by `prepare`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/view.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

// A queued operation as its kernel sees it.
struct KernelCall {
  const View* views;  // of the operands
  int view_count;
  const void* attributes_bytes;
  std::byte* scratch = nullptr;  // the computing thread's, or the queue's, of scratch_bytes(call), 64-byte aligned
  const void* launch = nullptr;  // what the queue of an asynchronous device gives its own kernels

  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attributes_bytes);
  }
  template <class T>
  T* data(int operand) const {
    return reinterpret_cast<T*>(views[operand].data);
  }
  const Shape& shape(int operand) const { return views[operand].shape; }
  std::int64_t numel(int operand) const { return views[operand].shape.numel(); }
  DType dtype(int operand) const { return views[operand].dtype; }
  std::int64_t element_bytes(int operand) const { return static_cast<std::int64_t>(size_bytes(dtype(operand))); }
  Device device(int operand) const { return views[operand].device; }
  std::byte* bytes(int operand) const { return views[operand].data; }
  // The elements of all operands.
  std::int64_t elements() const {
    std::int64_t count = 0;
    for (int i = 0; i < view_count; ++i) count += numel(i);
    return count;
  }
};

// Computes an operation. All functions are pure except for what `run` writes; any thread may call them. `tiles`,
// `scratch_bytes` and `cost` are functions of shapes, types and attributes alone, and are called before there is any
// data; `prepare` and `run` have it.
struct Kernel {
  // Computes tile `tile` of `tiles(call)`; tiles may run at once and in any order. Takes no lock that a caller of the
  // library may hold. Does not wait, queue or ask the engine for figures, all of which throw Error there. On an
  // asynchronous device: puts the whole operation on the queue (tile 0) and returns.
  void (*run)(const KernelCall& call, int tile) = nullptr;
  // Null: one tile.
  int (*tiles)(const KernelCall& call) = nullptr;
  // Checks what depends on values and throws Error before anything is written. Null: nothing to check.
  void (*prepare)(const KernelCall& call) = nullptr;
  // Bytes that a thread needs while it runs a tile. Null: none.
  std::int64_t (*scratch_bytes)(const KernelCall& call) = nullptr;
  // The approximate number of scalar operations; null stands for the elements of all operands. Operations with a small
  // cost may run at the call.
  std::int64_t (*cost)(const KernelCall& call) = nullptr;
};

}  // namespace asyncgrad::detail
