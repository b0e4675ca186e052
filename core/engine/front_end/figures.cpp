#include "asyncgrad/core/engine/front_end/figures.h"

#include <chrono>
#include <thread>

#include "asyncgrad/core/engine/front_end/new_entry.h"
#include "asyncgrad/core/engine/front_end/waiting.h"
#include "asyncgrad/core/engine/run/execution.h"

namespace asyncgrad::detail {

EngineFigures figures_of(ProgramQueue& queue) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(queue.lock());
  const std::uint64_t next = queue.next_number();
  EngineFigures figures;
  figures.inlined = queue.at_call_count();
  figures.operations = static_cast<std::int64_t>(next) - 1 + figures.inlined;
  figures.queued = static_cast<std::int64_t>(next - queue.context().ring.oldest().load(std::memory_order_relaxed));
  figures.peak_queued = queue.peak_queued();
  figures.frontend_wait_s = waited_seconds();
  figures.record_bytes =
      static_cast<std::int64_t>(queue.context().ring.slots() * sizeof(Operation)) + queue.edge_bytes();
  return figures;
}

void reset_peaks(ProgramQueue& queue, DeviceState& device) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(queue.lock());
  const std::uint64_t oldest = queue.context().ring.oldest().load(std::memory_order_relaxed);
  queue.set_peak_queued(static_cast<std::int64_t>(queue.next_number() - oldest));
  device.reset_peaks();
  note_level(device, queue.context().executors);
  if (queue.is_dry_run()) queue.dry_run().reset(device);
}

DryRunReport dry_run_report(ProgramQueue& queue, const DeviceState& device) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(queue.lock());
  return queue.dry_run().report(device);
}

// Under the lock no entry is used again, and nothing but the atomics changes in one.
std::vector<PendingOperation> pending(ProgramQueue& queue) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(queue.lock());
  return pending_in(queue.context().ring, queue.next_number(), SIZE_MAX);
}

std::vector<std::uint64_t> unfinished_on(const DeviceState& device, ProgramQueue& queue) {
  InOperation::forbid("a wait");
  const SpinLockGuard lock(queue.lock());
  return unfinished_on(device, queue.context().ring, queue.next_number());
}

std::optional<std::vector<PendingOperation>> try_pending(ProgramQueue& queue, std::size_t max_count) {
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    if (queue.lock().try_lock()) {
      try {
        std::vector<PendingOperation> found = pending_in(queue.context().ring, queue.next_number(), max_count);
        queue.lock().unlock();
        return found;
      } catch (...) {  // there is no memory for a report
        queue.lock().unlock();
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return std::nullopt;
}

}  // namespace asyncgrad::detail
