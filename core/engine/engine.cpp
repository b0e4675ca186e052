#include "asyncgrad/core/engine/engine.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "asyncgrad/core/backend/exit_order.h"
#include "asyncgrad/core/engine/life/options.h"
#include "asyncgrad/core/engine/report.h"
#include "asyncgrad/core/sync/malloc_room.h"

namespace asyncgrad {

namespace detail {

Engine& Engine::make() {
  static Engine* const engine = new Engine;  // never destroyed, as its threads may outlive main
  if (instance.exchange(engine, std::memory_order_acq_rel) == nullptr) install_handlers();
  return *engine;
}

Engine::Engine() : options_(options_from_environment()) { set_up(); }

void end_work_before_statics() { Engine::end_before_statics(); }

// The handler does nothing when it is called again.
void Engine::end_before_statics() {
  if (std::atexit(end_at_exit) != 0) throw std::bad_alloc();
}

void Engine::end_at_exit() {
  // Acquire: it is seen whole. Null: nothing has ever run.
  if (Engine* const engine = instance.load(std::memory_order_acquire)) engine->process_.at_exit();
}

// What the first thread of the process keeps is destroyed before any static object, those included that a kernel's
// library is making at this moment.
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

// When the library is loaded, as another thread may be the first to use it. After a fork the thread is another.
const bool Engine::ends_with_first_thread = end_with_first_thread();

void Engine::install_handlers() {
  const auto child = [] {
    get().process_.after_fork(true);
    end_with_first_thread();
  };
  pthread_atfork([] { get().process_.before_fork(); }, [] { get().process_.after_fork(false); }, child);
  end_before_statics();
}

// While nothing is queued and no thread of an executor runs.
void Engine::set_up() {
  const std::uint64_t next = front_end_.next_number();
  front_end_.set_up(ring_.make(static_cast<std::size_t>(options_.queue_capacity), next));
  devices_.set_up(next);
  front_end_.begin_dry_run(devices_.all());
}

void Engine::set_options(const EngineOptions& options) {
  const EngineOptions wanted = checked(options);
  const FrontEnd::Idle idle(front_end_);
  executors_.stop();
  options_ = wanted;
  set_up();
}

DeviceState& Engine::add_device(Device device) {
  if (DeviceState* const state = Devices::find(device)) return *state;  // the engine has just been made
  const FrontEnd::Idle idle(front_end_);
  return devices_.add(device, front_end_.next_number());
}

void Engine::add_sources(DeviceState& device) {
  const FrontEnd::Idle idle(front_end_);
  devices_.add_sources(device, front_end_.next_number());
}

void Engine::replace_backend(DeviceType type, const Backend* backend) {
  const FrontEnd::Idle idle(front_end_);
  executors_.stop();
  devices_.replace_backend(type, backend);
  set_up();
}

void Engine::trim_cache(DeviceState& device) {
  if (!device.is_asynchronous) return device.allocator.trim();
  // The device may still be using what its operations have returned.
  const FrontEnd::Idle idle(front_end_);
  device.allocator.trim();
}

void Engine::wait_all() {
  wait_for_all_before(front_end_.next_number());
  failures_.deliver_oldest();
}

int Engine::recover() {
  wait_for_all_before(front_end_.next_number());
  front_end_.forget_levels(devices_.all());
  return failures_.recover();
}

std::string Engine::report() { return engine_report(front_end_, devices_.all()); }

void submit(const Submission& submission) { Engine::get().front_end().submit(submission); }

void prepare_for_sources(Device device) {
  DeviceState& state = device_state(device);
  // Acquire: the executor is seen whole.
  if (state.sources.load(std::memory_order_acquire) == nullptr) Engine::get().add_sources(state);
}

}  // namespace detail

void set_engine_options(const EngineOptions& options) { detail::Engine::get().set_options(options); }
EngineOptions engine_options() { return detail::Engine::get().options(); }

void Mark::wait() const { detail::Engine::get().wait_for_all_before(number_); }
Mark mark() { return Mark(detail::Engine::get().front_end().next_number()); }

void wait_all() { detail::Engine::get().wait_all(); }
int recover() { return detail::Engine::get().recover(); }
DryRunReport dry_run_report(Device device) {
  return detail::Engine::get().front_end().dry_run_report(detail::device_state(device));
}
EngineFigures engine_figures() { return detail::Engine::get().front_end().figures(); }
std::string engine_report() { return detail::Engine::get().report(); }

}  // namespace asyncgrad
