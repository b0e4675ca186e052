// The bytes behind tensors, and what the engine knows about them. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/kernels.h"

namespace asyncgrad::detail {

struct DeviceState;
struct Failure;

// One block of memory on one device. Counts its handles (tensors, tape) and its uses (operands of queued operations)
// apart: the handles decide what would be live if everything ran at its call, both together how long it really lives.
//
// A storage is made by the front end without memory (data == null); the first operation that writes it takes the memory
// when it starts. It ends when the last handle and the last use are gone, on whichever thread that happens.
struct Storage {
  static constexpr std::uint64_t one_handle = std::uint64_t{1} << 32, one_use = 1;

  std::atomic<std::uint64_t> references;  // handles in the upper half, uses in the lower
  std::int64_t size_bytes;                // as counted: rounded up by rounded_bytes
  std::int64_t value_bytes = 0;           // as asked for: a write of fewer is not a whole one
  DeviceState* device;
  std::byte* data = nullptr;   // written by the operation that first writes; dependencies order its readers
  std::uint64_t taken_by = 0;  // the operation that took the memory; as `data`
  Failure* failure = nullptr;  // not null: the value is poisoned. As `data`: only an operation that writes it, or the
                               // front end while nothing that uses the storage is queued, touches it
  bool has_value = false;      // some operation has written it; as `failure`
  bool bytes_are_old = false;  // poisoned, but the bytes are those of the value before: recover() restores them
  std::atomic<std::uint32_t> version{0};  // counts writes, for the tape; relaxed, as only front ends use it

  // Under the front end's lock: the youngest operation that writes, and the youngest reader since.
  std::uint64_t last_writer = 0;
  std::uint64_t last_reader = 0;
  int last_reader_operand = 0;
};

inline std::byte* KernelCall::bytes(int operand) const {
  return operands[operand].storage->data + operands[operand].offset_bytes;
}

// Sizes are counted in whole cache lines, the same in every figure.
constexpr std::int64_t rounded_bytes(std::int64_t bytes) { return (bytes + 63) & ~std::int64_t{63}; }

Storage* make_storage(std::int64_t size_bytes, DeviceState& device);  // with one handle
void add_handle(Storage& storage);
void drop_handle(Storage& storage);
void add_use(Storage& storage);
void drop_use(Storage& storage);

}  // namespace asyncgrad::detail
