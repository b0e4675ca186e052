// The engine behind core/engine.h: it owns the parts and passes calls on to them. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/front_end/front_end.h"
#include "asyncgrad/core/engine/front_end/waiting.h"
#include "asyncgrad/core/engine/life/device_set.h"
#include "asyncgrad/core/engine/life/process.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// There is one for the process, which is never destroyed. docs/engine.md describes how its parts work together.
//
// Thread safety: any thread may call any function.
class Engine final {
 public:
  static Engine& get() {
    // Acquire: it is seen whole.
    Engine* const engine = instance.load(std::memory_order_acquire);
    return engine != nullptr ? *engine : make();
  }

  FrontEnd& front_end() { return front_end_; }
  ProgramQueue& queue() { return queue_; }
  Failures& failures() { return failures_; }

  // Waits for everything older than `number`; throws nothing.
  void wait_for_all_before(std::uint64_t number) { wait_until(queue_, {.number = number, .all = true}, number - 1); }
  void wait_all();
  void wait_all(const DeviceState& device);
  int recover();
  bool has_lost(const Storage& storage) const { return failures_.has_lost(storage); }
  std::uint64_t next_number() const { return queue_.next_number(); }
  // Does not wait.
  bool reached(const Goal& goal) const { return ring_.reached(goal); }

  void set_options(const EngineOptions& options);
  EngineOptions options() {
    const SpinLockGuard lock(options_lock_);
    return options_;
  }
  // Describes in text what the engine does at this moment. Returns even if threads hang.
  std::string report();
  // See exit_order.h.
  static void end_before_statics();
  // Gives cached memory back to the system.
  void trim_cache(DeviceState& device);
  // Takes a device of a backend with queues of its own into use. Waits until everything is finished. Throws Error if
  // there is no device of that name.
  DeviceState& add_device(Device device);

  // Prepares a part of the CPU for sources. Waits until everything is finished if it is the first time.
  void add_sources(DeviceState& device);
  // The same for collectives.
  void add_collectives(DeviceState& device, int threads);

  // See submit.h.
  void compute_before_exit();

  // --- For tests. ---
  void set_hook(RunState::Hook hook) { run_state_.set_hook(hook); }
  // Puts a backend in place of the library's; null restores it. Its devices go out of use. Waits until everything is
  // finished; no other thread may use the library meanwhile.
  void replace_backend(DeviceType type, const Backend* backend);

 private:
  static Engine& make();  // or the one that another thread has just made
  Engine();
  // No other thread has the engine yet, or the caller has the lock.
  bool make_ring(const EngineOptions& options) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  void set_up(const DeviceSet::Wanted& devices, bool has_new_ring) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  static void before_fork() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;  // it returns with a lock, which the other gives back
  static void after_fork(bool in_child) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  static void end_at_exit();
  static bool end_with_first_thread();
  static const bool has_handlers;

  static inline constinit std::atomic<Engine*> instance{nullptr};

  SpinLock options_lock_;
  // Written under both locks, so that either is enough to read them.
  EngineOptions options_;
  Ring ring_;
  Failures failures_;
  Waiters waiters_{ring_};
  RunState run_state_;
  Executors executors_;
  ProgramQueue queue_{ring_, failures_, waiters_, run_state_, executors_, options_};
  FrontEnd front_end_{queue_};
  DeviceSet devices_{queue_.context(), options_};
  Process process_{queue_, run_state_};
};

// The state of a device, which is put into use if necessary. Throws Error if the library or the machine has no such
// device.
inline DeviceState& device_state(Device device) {
  DeviceState* const state = Devices::find(device);
  return state != nullptr ? *state : Engine::get().add_device(device);
}

}  // namespace asyncgrad::detail
