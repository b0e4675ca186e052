#include "asyncgrad/core/engine/engine.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

// Seconds that this thread has waited or computed while it waited.
thread_local double waited_s = 0;

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

// The number of the workers and the schedule as the environment has them, for the whole process.
EngineOptions options_from_environment() {
  EngineOptions options;
  if (const char* workers = std::getenv("ASYNCGRAD_WORKERS"); workers != nullptr && *workers != '\0') {
    const std::string_view text(workers);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.workers);
    if (error != std::errc() || end != text.data() + text.size() || options.workers < 1) {
      throw_error("engine", fmt::format("ASYNCGRAD_WORKERS is '{}': a number of threads, 1 or more, is wanted", text));
    }
  }
  if (const char* schedule = std::getenv("ASYNCGRAD_SCHEDULE"); schedule != nullptr && *schedule != '\0') {
    const std::string_view text(schedule);
    if (text == "first_ready") {
      options.schedule = Schedule::first_ready;
    } else if (text == "immediate") {
      options.schedule = Schedule::immediate;
    } else if (text != "oldest_first") {
      throw_error("engine",
                  fmt::format("ASYNCGRAD_SCHEDULE is '{}': oldest_first, first_ready or immediate is wanted", text));
    }
  }
  return options;
}

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

DeviceState& device_state(Device device) {
  // Never destroyed: tensors with static lifetime may outlive everything.
  static DeviceState* const cpu = [] {
    auto* state = new DeviceState;
    state->backend = make_backend(DeviceType::cpu);
    return state;
  }();
  if (device != Device(DeviceType::cpu)) throw_error("device", fmt::format("there is no {} here", device.str()));
  return *cpu;
}

Engine& Engine::get() {
  static Engine* const engine = new Engine;  // never destroyed, as its threads may outlive main
  return *engine;
}

Engine::Engine() : options_(options_from_environment()) {
  if (options_.workers == 0) options_.workers = core_count();
  make_ring();
  crew_.start(options_.workers);
  install_handlers();
}

void Engine::install_handlers() {
  pthread_atfork([] { get().before_fork(); }, [] { get().after_fork(false); }, [] { get().after_fork(true); });
  std::atexit([] { get().at_exit(); });
}

// While nothing is queued.
void Engine::make_ring() {
  const std::size_t slots = std::max<std::size_t>(64, std::bit_ceil(static_cast<std::size_t>(options_.queue_capacity)));
  if (slots != ring_.size()) {
    ring_ = std::vector<Operation>(slots);
    slot_mask_ = slots - 1;
    free_edges_ = nullptr;
    edge_blocks_.clear();
  }
  ready_ = std::make_unique<ReadySet>(slots);
  const bool by_readiness = options_.schedule == Schedule::first_ready;
  ready_queue_ = by_readiness ? std::make_unique<ReadyQueue>(slots) : nullptr;
  DeviceState& device = device_state(Device());
  const std::int64_t serial_live = device.serial_live.load(std::memory_order_relaxed);
  device.admission = std::make_unique<Admission>(slots);
  device.admission->set_budget(by_readiness ? MemoryBudget::unbounded() : options_.memory_budget);
  device.admission->raise_level(serial_live);
  device.serial_since_queued = 0;
  device.allocator.set_limit(device.admission->limit());
}

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
  bool started = false;
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
    }
    leave_thread(previous);
  }
  for (const Operand& operand : invocation.all_operands()) {
    if (operand.access != Access::read) operand.storage->version.fetch_add(1, std::memory_order_relaxed);
  }
  settle(invocation, failure, started, failures_);
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
  while (!admit_at_call(*storage.device, storage.size_bytes)) {
    // Something is unfinished, or it would have been admitted. Each step of f lets this try again.
    const std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
    lock.unlock();
    wait_until({.number = oldest + 1, .all = true}, UINT64_MAX);
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
  const auto start = std::chrono::steady_clock::now();
  crew_.help(goal, limit);
  waited_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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

void Engine::set_options(const EngineOptions& options) {
  if (options.workers < 0) throw_error("engine", fmt::format("{} workers: 1 or more are wanted", options.workers));
  if (options.queue_capacity < 1 || options.queue_capacity > 1 << 20) {
    throw_error("engine",
                fmt::format("a queue of {} operations: 1 to {} are possible", options.queue_capacity, 1 << 20));
  }
  if (!options.memory_budget.is_automatic() && !options.memory_budget.is_unbounded() &&
      options.memory_budget.bytes() < 0) {
    throw_error("engine", fmt::format("a memory budget of {} bytes", options.memory_budget.bytes()));
  }
  wait_for_all_before(next_number());
  crew_.stop();
  const std::lock_guard lock(front_end_);
  options_ = options;
  if (options_.workers == 0) options_.workers = core_count();
  make_ring();
  crew_.start(options_.workers);
}

EngineFigures Engine::figures() {
  const std::lock_guard lock(front_end_);
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  EngineFigures figures;
  figures.inlined = inlined_;
  figures.operations = static_cast<std::int64_t>(next) - 1 + inlined_;
  figures.queued = static_cast<std::int64_t>(next - oldest_.load(std::memory_order_relaxed));
  figures.peak_queued = peak_queued_;
  figures.frontend_wait_s = waited_s;
  figures.record_bytes =
      static_cast<std::int64_t>(ring_.size() * sizeof(Operation) + edge_blocks_.size() * 256 * sizeof(Edge));
  return figures;
}

void Engine::reset_peaks(DeviceState& device) {
  const std::lock_guard lock(front_end_);
  peak_queued_ =
      static_cast<std::int64_t>(next_.load(std::memory_order_relaxed) - oldest_.load(std::memory_order_relaxed));
  device.serial_since_queued = device.serial_live.load(std::memory_order_relaxed);
  device.admission->reset_serial_peak(device.serial_since_queued);
  device.allocator.reset_peak();
}

void Engine::before_fork() {
  // The child has this thread alone: nothing may be under way, and the lock keeps it so.
  for (;;) {
    wait_for_all_before(next_number());
    front_end_.lock();
    if (oldest_.load(std::memory_order_seq_cst) == next_.load(std::memory_order_relaxed)) return;
    front_end_.unlock();
  }
}

void Engine::after_fork(bool in_child) {
  if (in_child) crew_.forget_threads();
  front_end_.unlock();
}

void Engine::at_exit() {
  exiting_.store(true, std::memory_order_relaxed);
  // What has started ends: every thread that began a tile or an operation comes to its end without waiting for
  // anything.
  while (running_.load(std::memory_order_acquire) > 0) {
    if (!run_one(UINT64_MAX)) std::this_thread::yield();
  }
  for (const std::string& message : failures_.undelivered()) {
    fmt::print(stderr, "asyncgrad: an error that no wait has reported: {}\n", message);
  }
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
