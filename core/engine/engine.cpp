#include "asyncgrad/core/engine/engine.h"

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <optional>

#include "asyncgrad/core/backend/exit_order.h"
#include "asyncgrad/core/engine/front_end/figures.h"
#include "asyncgrad/core/engine/front_end/idle.h"
#include "asyncgrad/core/engine/life/options.h"
#include "asyncgrad/core/engine/read_watch.h"
#include "asyncgrad/core/engine/report.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/forks.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/malloc_room.h"
#include "asyncgrad/core/sync/mutex.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad {

namespace detail {

namespace {

// Held while the engine is made, and by a fork before all other locks: otherwise the child of a fork could get a
// half-made engine, which no thread there would finish. The thread that makes the engine waits for no thread that
// forks.
constinit Mutex making;

// The C library loads its stack unwinder when an exception first passes through pthread_once() or a thread is ended,
// and ends the process if there is no memory for that. This calls backtrace(), which loads the unwinder, too.
void load_unwinder() {
  void* frame = nullptr;
  backtrace(&frame, 1);
}

}  // namespace

Engine& Engine::make() {
  const MutexLock lock(making);
  if (Engine* const made = instance.load(std::memory_order_relaxed))
    return *made;                   // by a thread that had the lock before
  auto* const engine = new Engine;  // never destroyed, as its threads may outlive main
  instance.store(engine, std::memory_order_release);
  end_before_statics();
  return *engine;
}

Engine::Engine() : options_(options_from_environment()) {
  load_unwinder();
  failures_.hold_at_fork();
  ForkLocks::add(options_lock_, ForkLocks::Kind::innermost);
  const DeviceSet::Wanted devices = devices_.wanted(options_.cpu_parts);
  set_up(devices, make_ring(options_));
}

void end_work_before_statics() { Engine::end_before_statics(); }

// The handler does nothing when it is called again.
void Engine::end_before_statics() {
  if (std::atexit(end_at_exit) != 0) throw std::bad_alloc();
}

void Engine::end_at_exit() {
  // Acquire: it is seen whole. Null: nothing has ever run.
  if (Engine* const engine = instance.load(std::memory_order_acquire)) engine->process_.at_exit();
}

// The thread_local objects of the process's first thread are destroyed before all static objects, even those that a
// kernel's library makes at this moment.
bool Engine::end_with_first_thread() {
  struct Ender {
    bool is_armed = false;
    ~Ender() {
      if (is_armed) end_at_exit();
    }
  };
  if (!malloc_has_room()) return false;
  thread_local Ender ender;
  ender.is_armed = getpid() == gettid();
  return ender.is_armed;
}

void Engine::before_fork() {
  making.lock();
  // Relaxed: the lock orders it.
  if (Engine* const engine = instance.load(std::memory_order_relaxed)) {
    engine->process_.before_fork();
  } else if (forks_wait()) {
    ForkLocks::lock_all();
  }
}

void Engine::after_fork(bool in_child) {
  if (Engine* const engine = instance.load(std::memory_order_relaxed)) {
    engine->process_.after_fork(in_child);
  } else if (forks_wait()) {
    ForkLocks::unlock_all();
  }
  making.unlock();
  if (in_child) end_with_first_thread();  // the thread is another
}

// Runs when the library is loaded, because another thread may be the first to use it.
const bool Engine::has_handlers = [] {
  end_with_first_thread();
  return pthread_atfork([] { before_fork(); }, [] { after_fork(false); }, [] { after_fork(true); }) == 0;
}();

bool Engine::make_ring(const EngineOptions& options) {
  return ring_.make(static_cast<std::size_t>(options.queue_capacity), queue_.next_number());
}

// While nothing is queued and no thread of an executor runs. A device that does not come into use again is no reason to
// leave the rest undone.
void Engine::set_up(const DeviceSet::Wanted& devices, bool has_new_ring) {
  queue_.set_up(has_new_ring);
  const std::exception_ptr refusal = devices_.set_up(devices, queue_.next_number());
  queue_.begin_dry_run(devices_.all());
  const bool is_dry = options_.schedule == Schedule::dry_run;
  if (options_.recompute_to_fit) {
    Planner::activate(options_.memory_budget.bytes(), is_dry);
  } else if (Planner* const planner = Planner::get()) {
    planner->set_budget(std::nullopt, is_dry);
  }
  if (refusal != nullptr) std::rethrow_exception(refusal);
}

void Engine::set_options(const EngineOptions& options) {
  const EngineOptions wanted = checked(options);
  const Idle idle(queue_);
  const Planner* const planner = Planner::get();
  if (wanted.schedule == Schedule::dry_run && planner != nullptr) planner->check_nothing_is_absent();
  const Executors::Replacement replacement(executors_);
  // Before the options change: memory may be refused.
  const DeviceSet::Wanted devices = devices_.wanted(wanted.cpu_parts);
  const bool has_new_ring = make_ring(wanted);
  {
    const SpinLockGuard lock(options_lock_);
    options_ = wanted;
  }
  set_up(devices, has_new_ring);
}

DeviceState& Engine::add_device(Device device) {
  if (DeviceState* const state = Devices::find(device)) return *state;  // the engine has just been made
  const Idle idle(queue_);
  return devices_.add(device, queue_.next_number());
}

// A thread that finds an executor missing may have looked while options were being set, which makes executors anew. Under
// the lock it is there, and the thread need not wait for what may need what it is about to queue.
void Engine::add_sources(DeviceState& device) {
  {
    const SpinLockGuard lock(queue_.lock());
    if (device.sources.load(std::memory_order_relaxed) != nullptr) return;
  }
  const Idle idle(queue_);
  devices_.add_sources(device, queue_.next_number());
}

void Engine::add_collectives(DeviceState& device, int threads) {
  {
    const SpinLockGuard lock(queue_.lock());
    if (device.collectives.load(std::memory_order_relaxed) != nullptr) return;  // as for sources
  }
  const Idle idle(queue_);
  devices_.add_collectives(device, threads, queue_.next_number());
}

void Engine::replace_backend(DeviceType type, const Backend* backend) {
  const Idle idle(queue_);
  const Executors::Replacement replacement(executors_);
  devices_.replace_backend(type, backend);
  set_up(devices_.wanted(options_.cpu_parts), false);
}

void Engine::compute_before_exit() {
  if (run_state_.is_exiting()) throw_error("engine", "the end of the process has begun: nothing more is computed");
  run_state_.need_before_exit(queue_.next_number());
}

void Engine::trim_cache(DeviceState& device) {
  if (!device.is_asynchronous) return device.allocator.trim();
  // The device may still be using what its operations have returned.
  const Idle idle(queue_);
  device.allocator.trim();
}

void Engine::wait_all() {
  wait_for_all_before(queue_.next_number());
  failures_.deliver_oldest();
}

void Engine::wait_all(const DeviceState& device) {
  for (const std::uint64_t number : unfinished_on(device, queue_)) wait_until(queue_, {.number = number}, number);
  failures_.deliver_oldest();
}

int Engine::recover() {
  wait_for_all_before(queue_.next_number());
  forget_levels(queue_);
  const int undelivered = failures_.recover();
  if (Planner* const planner = Planner::get()) planner->tidy();
  return undelivered;
}

std::string Engine::report() { return engine_report(queue_); }

void submit(const Submission& submission) {
  if (ReadWatch::is_in_use()) ReadWatch::note(submission.operands);
  if (Planner* const planner = Planner::get()) return planner->submit(submission);
  submit_as_it_is(submission);
}
void submit_as_it_is(const Submission& submission) { Engine::get().front_end().submit(submission); }

bool is_lost(const Tensor& tensor) { return Engine::get().has_lost(*tensor.impl()->storage); }

void prepare_for_sources(Device device) {
  DeviceState& state = device_state(device);
  // Acquire: the executor is seen whole.
  if (state.sources.load(std::memory_order_acquire) == nullptr) Engine::get().add_sources(state);
}

// A thread that finds the executor missing may be late: one that has added it may have queued a collective since, whose
// end would never come if this thread waited for it here, and another rank for this one. So one thread alone looks and
// adds.
void prepare_for_collectives(Device device, int threads) {
  constinit static Mutex adding;
  DeviceState& state = device_state(device);
  // Acquire: the executor is seen whole.
  if (state.collectives.load(std::memory_order_acquire) != nullptr) return;
  const MutexLock lock(adding);
  if (state.collectives.load(std::memory_order_relaxed) == nullptr) Engine::get().add_collectives(state, threads);
}

std::byte* workspace(Device device, std::int64_t size_bytes) { return scratch(device_state(device), size_bytes); }
void abandon_workspace() { abandon_scratch(); }
bool is_computing(Device device) {
  Executor* const executor = device_state(device).executor.load(std::memory_order_relaxed);
  return executor != nullptr && !executor->workers().is_idle();
}

void compute_before_exit() { Engine::get().compute_before_exit(); }

}  // namespace detail

void set_engine_options(const EngineOptions& options) { detail::Engine::get().set_options(options); }
EngineOptions engine_options() { return detail::Engine::get().options(); }

void Mark::wait() const { detail::Engine::get().wait_for_all_before(number_); }
Mark mark() { return Mark(detail::Engine::get().queue().next_number()); }

void wait_all() { detail::Engine::get().wait_all(); }
void wait_all(Device device) {
  const detail::DeviceState& state = detail::device_state(device);
  detail::Engine::get().wait_all(state);
}
int recover() { return detail::Engine::get().recover(); }
DryRunReport dry_run_report(Device device) {
  DryRunReport report = detail::dry_run_report(detail::Engine::get().queue(), detail::device_state(device));
  const EngineFigures figures = engine_figures();
  report.recomputed_operations = figures.recomputed_operations;
  report.added_work = figures.added_work();
  return report;
}
EngineFigures engine_figures() {
  EngineFigures figures = detail::figures_of(detail::Engine::get().queue());
  if (const detail::Planner* const planner = detail::Planner::get()) {
    const detail::Planner::Figures planned = planner->figures();
    figures.recomputed_operations = planned.recomputed_operations;
    figures.recomputed_work = planned.recomputed_work;
    figures.work = planned.work;
    figures.recomputed_before_writes = planned.recomputed_before_writes;
  }
  return figures;
}
EngineFigures EngineFigures::since(const EngineFigures& earlier) const {
  EngineFigures counted = *this;
  counted.operations -= earlier.operations;
  counted.inlined -= earlier.inlined;
  counted.frontend_wait_s -= earlier.frontend_wait_s;
  counted.recomputed_operations -= earlier.recomputed_operations;
  counted.recomputed_work -= earlier.recomputed_work;
  counted.work -= earlier.work;
  counted.recomputed_before_writes -= earlier.recomputed_before_writes;
  return counted;
}
std::string engine_report() { return detail::Engine::get().report(); }

}  // namespace asyncgrad
