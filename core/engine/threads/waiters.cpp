#include "asyncgrad/core/engine/threads/waiters.h"

#include "asyncgrad/core/engine/threads/workers.h"

namespace asyncgrad::detail {

void Waiters::add(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiters_.push_back(waiter);
  note_earliest();
}

void Waiters::remove(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiters_, [&waiter](const Waiter& other) { return other.bed == waiter.bed; });
  note_earliest();
}

void Waiters::forget_threads() {
  waiters_.clear();
  earliest_.store(never, std::memory_order_relaxed);
}

// In the order of a device numbers are others: whoever waits in that is asked each time.
void Waiters::note_earliest() {
  std::uint64_t earliest = never;
  for (const Waiter& waiter : waiters_) {
    earliest = std::min(earliest, waiter.goal->oldest == nullptr ? waiter.goal->number : 0);
  }
  earliest_.store(earliest, std::memory_order_seq_cst);
}

void Waiters::wake_reached() {
  const std::lock_guard lock(mutex_);
  for (const Waiter& waiter : waiters_) {
    if (waiter.work->reached(*waiter.goal)) waiter.bed->try_wake();
  }
}

}  // namespace asyncgrad::detail
