// The execution of an operation: its kernel, and its values before and after that. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/run/failure.h"
#include "asyncgrad/core/memory/storage_memory.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// Returns the first cause, in program order, why the operation cannot run: an input is poisoned, or an output that it
// does not overwrite whole. The caller has a share of it. Null: the operation can run.
Failure* first_cause(const Invocation& invocation, Failures& failures);

// Assigns field by field: a whole struct would be built in memory first and read before the stores are done.
inline void set_operand(Operand& operand, View& view, const OperandRef& ref) {
  const TensorImpl& impl = *ref.impl;
  operand.storage = impl.storage;
  operand.offset_bytes = impl.offset_bytes;
  view.data = nullptr;
  view.shape = impl.shape;
  view.dtype = impl.dtype;
  view.access = ref.access;
  view.device = impl.device;
}

// Operations of at most this many scalar operations, a microsecond or two of computing, are tiny.
inline constexpr std::int64_t tiny_cost = 12288;

// Operations of one tile and at most this many, some 0.1 ms, are brief, unless their kernel is the program's, which may
// take any time.
inline constexpr std::int64_t brief_cost = 64 * tiny_cost;

inline std::int64_t cost_of(const Kernel& kernel, const KernelCall& call) {
  return kernel.cost != nullptr ? kernel.cost(call) : call.elements();
}

// Whether first_cause() may return a cause.
inline bool has_poison(const Invocation& invocation) {
  for (const Operand& operand : invocation.all_operands()) {
    if (operand.storage->is_poisoned()) return true;
  }
  return false;
}

inline bool lacks_memory(const Operand& operand, Access access) {
  return access != Access::read && operand.storage->data == nullptr && operand.storage->size_bytes > 0;
}

// The bytes that the operation takes when it starts, for results without memory.
inline std::int64_t bytes_to_take(const Invocation& invocation) {
  std::int64_t bytes = 0;
  for (int i = 0; i < invocation.operand_count; ++i) {
    const Operand& operand = invocation.operands[i];
    if (lacks_memory(operand, invocation.views[i].access)) bytes += operand.storage->size_bytes;
  }
  return bytes;
}

// The bytes of scratch memory that its kernel needs.
inline std::int64_t scratch_bytes(const Invocation& invocation) {
  return invocation.kernel->scratch_bytes == nullptr ? 0 : invocation.kernel->scratch_bytes(invocation.call());
}

// The same for one result.
inline void take_memory_of(Storage& storage, std::uint64_t number) {
  const DeviceState& device = state_of(storage);
  storage.data = take_memory_for(storage);
  storage.taken_by = number;
  // Once f has arrived at the operation, this stays false: then admission need not be notified of the memory's return.
  // f alone usually decides, and it is in this thread's cache.
  storage.taken_early =
      device.order->oldest().load(std::memory_order_relaxed) < number && device.admission().is_early(number);
}
// Takes the memory of the results for operation `number`. Throws std::bad_alloc with nothing taken.
void take_memory(const Invocation& invocation, std::uint64_t number);

// The calling thread's scratch memory of at least `size_bytes`, which is kept for the next call. Throws std::bad_alloc.
std::byte* scratch(DeviceState& device, std::int64_t size_bytes);
// The calling thread's scratch memory is never freed, nor given out again.
void abandon_scratch();

// While it lives, the calling thread is inside an operation: in its kernel, or right before it. There the thread may
// not wait, queue or read the engine's figures: a wait could be for this very operation, and an operation that is
// computed at its call runs under the front end's lock.
class InOperation {
 public:
  InOperation() { is_here_ = true; }
  InOperation(const InOperation&) = delete;
  InOperation& operator=(const InOperation&) = delete;
  ~InOperation() { is_here_ = false; }

  static bool is_here() { return is_here_; }
  // Throws Error inside an operation.
  static void forbid(const char* what) {
    if (is_here_) throw_forbidden(what);
  }

 private:
  [[noreturn]] static void throw_forbidden(const char* what);

  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline constinit thread_local bool is_here_ = false;
};

// Called by the thread that starts the operation, after it has taken the memory: writes the operands' addresses into
// the views, and lets the kernel check its operands before anything is written. No other thread uses the operation yet.
inline void prepare(const Invocation& invocation) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    const Operand& operand = invocation.operands[i];
    invocation.views[i].data = operand.storage->data + operand.offset_bytes;
  }
  if (invocation.kernel->prepare == nullptr) return;
  const InOperation here;
  invocation.kernel->prepare(invocation.call());
}

// Runs a tile of the kernel. `call`, which is the invocation's, gets the thread's scratch.
inline void run_tile(const Invocation& invocation, KernelCall& call, int tile) {
  const InOperation here;
  const Kernel& kernel = *invocation.kernel;
  if (kernel.scratch_bytes != nullptr) {
    call.scratch = scratch(state_of(*invocation.operands[0].storage), kernel.scratch_bytes(call));
  }
  kernel.run(call, tile);
}

// Adds a failure of operation `number` for the exception that is being handled. Its message has what went wrong, the
// operands' shapes, and where the operation was queued. The caller has a share of it.
Failure* add_current_failure(const Invocation& invocation, std::uint64_t number, Failures& failures) noexcept;

// Called after the operation: poisons its outputs, or, without a failure, removes the poison of those that it
// overwrote. `started`: the kernel may have written part of them.
void settle(const Invocation& invocation, Failure* failure, bool started, Failures& failures);

// Drops the operation's uses of its operands.
void release_operands(const Invocation& invocation);

}  // namespace asyncgrad::detail
