// All that the engine keeps for one device. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/admission/admission.h"
#include "asyncgrad/core/engine/admission/device_order.h"
#include "asyncgrad/core/engine/ring/by_slots.h"
#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/memory/memory_source.h"
#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/sync/raise_to.h"

namespace asyncgrad::detail {

class Executor;
struct Failure;

// Knows why values are poisoned: the engine's failures.
class PoisonedValues {
 public:
  // Called when a storage with a poisoned value ends.
  virtual void cure(Storage& storage) noexcept = 0;

 protected:
  ~PoisonedValues() = default;
};

// The memory of a device, and the rule by which operations may take it.
struct DeviceState final : DeviceMemory {
  DeviceState(Device of_device, const Backend& of_backend, PoisonedValues& poisoned)
      : DeviceMemory(of_device, of_backend.memory == nullptr ? host_memory() : of_backend.memory(of_device)),
        backend(&of_backend),
        is_asynchronous(of_backend.make_queue != nullptr),
        poisoned_(poisoned) {}

  // While nothing is queued, and `next` is the next number in the order of the program. `program`: that order, if the
  // device is the only one; null: the device gets an order of its own.
  void set_order(Order* program, std::size_t slots, std::uint64_t next);
  // Starts admission again. Called while nothing is queued.
  void set_up(std::size_t slots, MemoryBudget budget, std::int64_t max_cached_bytes);

  void early_memory_returned(std::uint64_t taken_by, std::int64_t size_bytes) noexcept override {
    admission().give_back(taken_by, size_bytes);
  }
  void cure(Storage& storage) noexcept override { poisoned_.cure(storage); }
  // Operation `number` in the order of the device is finished with the device's memory, except for results and for
  // operands that a copy queue still reads. Any thread may call it.
  void finish(std::uint64_t number) {
    order->order().finish(number, [this](std::uint64_t f) { admission().arrive(f); });
  }

  // Count the operands on this device of an operation that f steps over while it runs. Any thread may call them.
  void raise_under_way(std::int64_t bytes) {
    const std::int64_t now = under_way_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    raise_to(peak_under_way_, now, std::memory_order_relaxed);
  }
  void lower_under_way(std::int64_t bytes) { under_way_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::int64_t peak_under_way() const { return peak_under_way_.load(std::memory_order_relaxed); }

  // --- Under the front end's lock. ---
  // Counts what would be live now into the next operation's serial level. True if the device's limit rose.
  bool note_level();
  // Sets the level of operation `number` in the order of the device.
  void queue_level(std::uint64_t number) { admission().queue(number); }
  void reset_peaks();
  // Lets the automatic budget start again from what is live. Called while nothing is unfinished.
  void forget_levels();

  // Acquire: it is seen whole. Any thread may call it, and functions of the admission that are for any thread.
  Admission& admission() const { return *admission_.load(std::memory_order_acquire); }

  const Backend* backend;
  const bool is_asynchronous;  // what is issued to it is complete later
  // The executor of its operations; null if the device is not in use. These members change while the engine is set up,
  // when nothing is queued, and so do the executors: they are there under the front end's lock, while a thread
  // visits, and while an operation is unfinished. Relaxed: only whether there is one is asked without the lock.
  std::atomic<Executor*> executor{nullptr};
  // The executor of copies that this device writes or, if it has queues of its own, takes part in.
  std::atomic<Executor*> copies{nullptr};
  // The executor of sources; null if there has been no source. Acquire, release: a thread that queues may find it just
  // made.
  std::atomic<Executor*> sources{nullptr};
  // The same for collectives, and how many of them may run at once.
  std::atomic<Executor*> collectives{nullptr};
  int collective_threads = 0;
  std::unique_ptr<DeviceOrder> order;
  // The reason why the device has stopped; null while it works. Release, acquire: a thread that reads it sees the
  // message.
  std::atomic<Failure*> failure{nullptr};
  // On an asynchronous device: the bytes here of the operands of copies that are queued and not complete. Relaxed: it
  // is raised before the copy can start.
  std::atomic<std::int64_t> copied_bytes{0};

 private:
  PoisonedValues& poisoned_;
  BySlots<Admission> admissions_;  // a thread that ends a storage may be inside of an old one
  BySlots<Order> orders_;          // a thread that waits may read an old one
  std::atomic<Admission*> admission_{nullptr};
  std::atomic<std::int64_t> under_way_{0}, peak_under_way_{0};  // relaxed: figures
};

// Every device's memory is part of such a state.
inline DeviceState& state_of(const Storage& storage) { return static_cast<DeviceState&>(*storage.device); }

}  // namespace asyncgrad::detail
