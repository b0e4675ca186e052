// The engine's life: its options, what it tells of itself, and what forks and the exit of the process do to it.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

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
    } else if (text == "dry_run") {
      options.schedule = Schedule::dry_run;
    } else if (text != "oldest_first") {
      throw_error(
          "engine",
          fmt::format("ASYNCGRAD_SCHEDULE is '{}': oldest_first, first_ready, immediate or dry_run is wanted", text));
    }
  }
  return options;
}

}  // namespace

DeviceState& Devices::make(Device device) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (device != Device(DeviceType::cpu)) throw_error("device", fmt::format("there is no {} here", device.str()));
  std::atomic<DeviceState*>& place = table[static_cast<std::size_t>(device.type)][0];
  if (DeviceState* state = place.load(std::memory_order_acquire)) return *state;
  auto* state = new DeviceState;
  state->device = device;
  state->backend = make_backend(device.type);
  place.store(state, std::memory_order_release);
  return *state;
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
  // A kernel may be in a library that destroys its own statics, those made after the engine before the handler above.
  // What the first thread keeps is destroyed before any of them.
  struct Ender {
    bool is_armed = false;
    ~Ender() {
      if (is_armed) get().at_exit();
    }
  };
  thread_local Ender ender;
  ender.is_armed = getpid() == gettid();
}

// While nothing is queued.
void Engine::make_ring() {
  const std::size_t slots = std::max<std::size_t>(64, std::bit_ceil(static_cast<std::size_t>(options_.queue_capacity)));
  if (slots != ring_.size()) {
    ring_ = std::vector<Operation>(slots);
    slot_mask_ = slots - 1;
    oldest_seen_ = oldest_.load(std::memory_order_seq_cst);  // no record tells of the numbers before
    free_edges_ = nullptr;
    edge_blocks_.clear();
  }
  ready_ = std::make_unique<ReadySet>(slots);
  const bool by_readiness = options_.schedule == Schedule::first_ready;
  ready_queue_ = by_readiness ? std::make_unique<ReadyQueue>(slots) : nullptr;
  DeviceState& device = device_state(Device());
  const std::int64_t serial_live = device.serial_live.now();
  device.admission = std::make_unique<Admission>(slots);
  device.admission->set_budget(by_readiness ? MemoryBudget::unbounded() : options_.memory_budget);
  device.admission->raise_level(serial_live);
  device.serial_since_queued = 0;
  if (is_dry_run()) dry_run_.reset(device);
  device.allocator.set_limit(device.admission->limit());
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
  figures.frontend_wait_s = waited_s();
  figures.record_bytes = static_cast<std::int64_t>(ring_.size() * sizeof(Operation) +
                                                   edge_blocks_.size() * edges_in_block * sizeof(FurtherEdge));
  return figures;
}

void Engine::reset_peaks(DeviceState& device) {
  const std::lock_guard lock(front_end_);
  peak_queued_ =
      static_cast<std::int64_t>(next_.load(std::memory_order_relaxed) - oldest_.load(std::memory_order_relaxed));
  device.serial_since_queued = device.serial_live.now();
  device.admission->reset_serial_peak(device.serial_since_queued);
  device.allocator.reset_peak();
  if (is_dry_run()) dry_run_.reset(device);
}

DryRunReport Engine::dry_run_report(const DeviceState& device) {
  const std::lock_guard lock(front_end_);
  return dry_run_.report(device);
}

void Engine::before_fork() {
  // The child has this thread alone: nothing may be under way, and the lock keeps it so.
  for (;;) {
    wait_for_all_before(next_number());
    front_end_.lock();
    if (oldest_.load(std::memory_order_seq_cst) == next_.load(std::memory_order_relaxed)) break;
    front_end_.unlock();
  }
  // Finished is not yet retired: who finished an operation may still be in its record.
  for (const Operation& operation : ring_) {
    while (operation.retired.load(std::memory_order_acquire) != operation.finished.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
  crew_.hold_still();
}

void Engine::after_fork(bool in_child) {
  crew_.let_go_on();
  if (in_child) crew_.forget_threads();
  front_end_.unlock();
}

void Engine::at_exit() {
  // Sequentially consistent, before the look at the seats; see start().
  if (exiting_.exchange(true, std::memory_order_seq_cst)) return;
  is_exiting_thread() = true;
  // What has started ends: its threads leave their seats without waiting for anything, and this one runs the tiles that
  // a waiting thread has left behind.
  const std::uint64_t previous = enter_thread();
  for (std::uint64_t next = 0;;) {
    const bool was_idle = crew_.is_idle();
    if (!run_one(UINT64_MAX, next) && was_idle) break;
    std::this_thread::yield();
  }
  leave_thread(previous);
  for (const std::string& message : failures_.undelivered()) {
    fmt::print(stderr, "asyncgrad: an error that no wait has reported: {}\n", message);
  }
}

}  // namespace asyncgrad::detail
