#include "asyncgrad/core/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "asyncgrad/core/engine/execution.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace detail {

namespace {

// An operation of at most this many scalar operations may run at the call: about as long as queueing it takes.
constexpr std::int64_t tiny_cost = 4096;

const Kernel& kernel_of(const DeviceState& device, Op op, const void* attributes) {
  const Kernel& kernel =
      op == Op::elementwise
          ? device.backend->elementwise[static_cast<const ElementwiseAttributes*>(attributes)->formula]
          : device.backend->kernels[static_cast<std::size_t>(op)];
  if (kernel.run == nullptr)
    throw_error(op_name(op, attributes), fmt::format("has no kernel for {}", device.device.str()));
  return kernel;
}

std::int64_t cost_of(const Kernel& kernel, const KernelCall& call) {
  if (kernel.cost != nullptr) return kernel.cost(call);
  std::int64_t elements = 0;
  for (int i = 0; i < call.operand_count; ++i) elements += call.numel(i);
  return elements;
}

}  // namespace

void Engine::submit(Op op, std::span<const OperandRef> operands, const void* attributes, std::size_t size_bytes,
                    Location where) {
  const Kernel& kernel = kernel_of(*operands[0].tensor.impl()->storage->device, op, attributes);
  bool is_ready = false;
  {
    std::unique_lock lock(front_end_);
    if (options_.inline_tiny && inputs_finished(operands) &&
        run_at_call(kernel, op, operands, attributes, size_bytes, where)) {
      lock.unlock();
      throw_if_immediate(operands);
      return;
    }
    while (!has_room()) {
      const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
      const std::uint64_t next = next_.load(std::memory_order_relaxed);
      lock.unlock();
      if (next >= capacity) wait_until({.number = next - capacity + 1, .all = true}, UINT64_MAX);
      lock.lock();
    }
    Operation& operation = queue(kernel, op, operands, attributes, size_bytes, where);
    peak_queued_ = std::max(peak_queued_,
                            static_cast<std::int64_t>(operation.number + 1 - oldest_.load(std::memory_order_relaxed)));
    // Acquire-release: the last one to count down sees what all predecessors published, and publishes the record.
    if (operation.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      make_ready(operation);
      is_ready = true;
    }
  }
  if (is_ready) crew_.notify(1);
  throw_if_immediate(operands);
}

// Under Schedule::immediate: finishes the operation that was just queued and throws what it, or its cause, failed with.
void Engine::throw_if_immediate(std::span<const OperandRef> operands) {
  if (options_.schedule != Schedule::immediate) return;
  for (const OperandRef& ref : operands) {
    if (ref.access != Access::read) wait(*ref.tensor.impl()->storage);
  }
}

bool Engine::has_room() const {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next - oldest_.load(std::memory_order_seq_cst) >= static_cast<std::uint64_t>(options_.queue_capacity))
    return false;
  // Acquire: whoever completed the slot's last operation is done with it. That is a matter of instants: f has passed
  // it.
  const Operation& operation = at(next);
  return operation.retired.load(std::memory_order_acquire) == operation.finished.load(std::memory_order_relaxed);
}

// All that the operation would wait for is finished.
bool Engine::inputs_finished(std::span<const OperandRef> operands) const {
  return std::ranges::all_of(operands, [this](const OperandRef& ref) {
    const Storage& storage = *ref.tensor.impl()->storage;
    if (!finished(storage.last_writer)) return false;
    // Of several readers the last may be finished before the others: then this says no too often.
    return ref.access == Access::read || storage.last_reader < oldest_.load(std::memory_order_seq_cst);
  });
}

// Computes a tiny operation now, if admission allows. It takes no number: its memory belongs to the next operation's.
bool Engine::run_at_call(const Kernel& kernel, Op op, std::span<const OperandRef> operands, const void* attributes,
                         std::size_t size_bytes, Location where) {
  Invocation invocation;
  operands_at_call_.clear();
  for (const OperandRef& ref : operands) {
    const TensorImpl& impl = *ref.tensor.impl();
    operands_at_call_.push_back({impl.storage, impl.offset_bytes, impl.shape, impl.dtype, ref.access});
  }
  invocation.op = op;
  invocation.kernel = &kernel;
  invocation.operands = operands_at_call_.data();
  invocation.operand_count = static_cast<int>(operands_at_call_.size());
  std::copy_n(static_cast<const std::byte*>(attributes), size_bytes, invocation.attributes.begin());
  if (cost_of(kernel, invocation.call()) > tiny_cost) return false;
  if (kernel.tiles != nullptr && kernel.tiles(invocation.call()) != 1) return false;

  DeviceState& device = *invocation.operands[0].storage->device;
  const std::uint64_t number = next_.load(std::memory_order_relaxed);
  Failure* failure = first_cause(invocation);
  bool started = false, own_failure = false;
  if (failure == nullptr) {
    if (!admit_at_call(device, bytes_to_take(invocation))) return false;
    invocation.origin = origin_at(where);
    const std::uint64_t previous = enter_thread();
    try {
      take_memory(invocation, number);
      if (kernel.prepare != nullptr) kernel.prepare(invocation.call());
      started = true;
      run_tile(invocation, 0);
    } catch (...) {
      failure = fail(invocation, number);
      own_failure = true;
    }
    leave_thread(previous);
  }
  for (const Operand& operand : invocation.all_operands()) {
    if (operand.access != Access::read) operand.storage->version.fetch_add(1, std::memory_order_relaxed);
  }
  settle(invocation, failure, started, failures_);
  if (own_failure) failures_.let_go(*failure);
  ++inlined_;
  return true;
}

// Memory taken outside of the queue: part of the next operation's serial level, early if something is unfinished.
bool Engine::admit_at_call(DeviceState& device, std::int64_t bytes) {
  const std::int64_t serial_live = device.serial_live.load(std::memory_order_relaxed);
  device.serial_since_queued = std::max(device.serial_since_queued, serial_live);
  if (device.admission->raise_level(serial_live)) {
    device.allocator.set_limit(device.admission->limit());
    retry_refused();
  }
  return device.admission->admit(next_.load(std::memory_order_relaxed), bytes, oldest_);
}

void Engine::hand_over(Storage& storage, const void* values, std::size_t size_bytes, Location) {
  std::unique_lock lock(front_end_);
  for (;;) {
    // Read before the question: refused, this one was queued, so that f gets past it; later f may be at the queue's
    // end.
    const std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
    if (admit_at_call(*storage.device, storage.size_bytes)) break;
    lock.unlock();
    wait_until({.number = oldest + 1, .all = true}, UINT64_MAX);  // each step of f lets this try again
    lock.lock();
  }
  try {
    storage.data = storage.device->allocator.take(storage.size_bytes);
  } catch (const std::bad_alloc&) {
    throw_error("from", fmt::format("out of memory: {} bytes asked for", storage.size_bytes));
  }
  storage.taken_by = next_.load(std::memory_order_relaxed);
  storage.has_value = true;
  lock.unlock();
  if (size_bytes > 0) std::memcpy(storage.data, values, size_bytes);
}

void Engine::wait(Storage& storage) {
  std::uint64_t writer = 0;
  {
    const std::lock_guard lock(front_end_);
    writer = storage.last_writer;
  }
  wait_until({.number = writer, .all = false}, writer);
  if (storage.failure != nullptr) failures_.deliver(*storage.failure);
}

void Engine::wait_for_all_before(std::uint64_t number) { wait_until({.number = number, .all = true}, number - 1); }

void Engine::wait_all() {
  wait_for_all_before(next_number());
  failures_.deliver_oldest();
}

int Engine::recover() {
  wait_for_all_before(next_number());
  return failures_.recover();
}

std::uint64_t Engine::next_number() { return next_.load(std::memory_order_relaxed); }

void Engine::wait_until(const Goal& goal, std::uint64_t limit) {
  if (reached(goal)) return;
  // From a static destructor, say: the wait would not end.
  if (is_exiting_thread()) throw_error("engine", "a wait for what the end of the process has dropped");
  const auto start = std::chrono::steady_clock::now();
  crew_.help(goal, limit);
  waited_s() += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool Engine::reached(const Goal& goal) const {
  return goal.all ? oldest_.load(std::memory_order_seq_cst) >= goal.number : finished(goal.number);
}

bool Engine::finished(std::uint64_t number) const {
  return number < oldest_.load(std::memory_order_seq_cst) ||
         at(number).finished.load(std::memory_order_seq_cst) == number;
}

std::uint64_t Engine::enter_thread() {
  const Backend& backend = *device_state(Device()).backend;
  return backend.enter_thread == nullptr ? 0 : backend.enter_thread();
}

void Engine::leave_thread(std::uint64_t previous) {
  const Backend& backend = *device_state(Device()).backend;
  if (backend.leave_thread != nullptr) backend.leave_thread(previous);
}

void submit_bytes(Op op, std::span<const OperandRef> operands, const void* attributes, std::size_t size_bytes,
                  Location where) {
  Engine::get().submit(op, operands, attributes, size_bytes, where);
}

}  // namespace detail

void set_engine_options(const EngineOptions& options) { detail::Engine::get().set_options(options); }
EngineOptions engine_options() { return detail::Engine::get().options(); }

void Mark::wait() const { detail::Engine::get().wait_for_all_before(number_); }
Mark mark() { return Mark(detail::Engine::get().next_number()); }

void wait_all() { detail::Engine::get().wait_all(); }
int recover() { return detail::Engine::get().recover(); }
EngineFigures engine_figures() { return detail::Engine::get().figures(); }

}  // namespace asyncgrad
