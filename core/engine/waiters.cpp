#include "asyncgrad/core/engine/waiters.h"

#include "asyncgrad/core/engine/crew.h"

namespace asyncgrad::detail {

void Waiters::add(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiters_.push_back(waiter);
  count_.fetch_add(1, std::memory_order_seq_cst);
}

void Waiters::remove(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiters_, [&waiter](const Waiter& other) { return other.bed == waiter.bed; });
  count_.fetch_sub(1, std::memory_order_seq_cst);
}

void Waiters::forget_threads() {
  waiters_.clear();
  count_.store(0, std::memory_order_relaxed);
}

void Waiters::wake_reached() {
  const std::lock_guard lock(mutex_);
  for (const Waiter& waiter : waiters_) {
    if (waiter.work->reached(*waiter.goal)) waiter.bed->try_wake();
  }
}

}  // namespace asyncgrad::detail
