#include "asyncgrad/core/engine/threads/waiters.h"

#include <chrono>
#include <thread>

namespace asyncgrad::detail {

void Waiters::sleep_until(const Goal& goal) {
  Waiter waiter{.goal = goal};
  waiter.sleep.prepare();
  add(waiter);
  if (is_over(goal)) {
    waiter.sleep.cancel();
  } else {
    waiter.sleep.commit();
  }
  remove(waiter);
}

bool Waiters::sleep_until(const Goal& goal, const std::function<bool()>& is_interrupted) {
  constexpr int milliseconds = 50;
  Waiter waiter{.goal = goal};
  add(waiter);
  // The waiter is on the thread's stack, so it is removed even if the callback ends the thread or throws.
  struct Removal {
    Waiters& waiters;
    const Waiter& waiter;
    ~Removal() { waiters.remove(waiter); }
  };
  const Removal removal{*this, waiter};
  bool goes_on = true;
  while (goes_on && !is_over(goal)) {
    waiter.sleep.prepare();
    if (is_over(goal) || !waiter.sleep.commit_for(milliseconds)) waiter.sleep.cancel();
    goes_on = ring_.reached(goal) || !is_interrupted();
  }
  return goes_on;
}

void Waiters::add(Waiter& waiter) {
  const MutexLock lock(mutex_);
  waiter.next = first_;
  first_ = &waiter;
  note_earliest();
}

void Waiters::remove(const Waiter& waiter) {
  const MutexLock lock(mutex_);
  Waiter** place = &first_;
  while (*place != nullptr && *place != &waiter) place = &(*place)->next;
  if (*place == nullptr) return;  // this is the child of a fork that a hook of the wait has made, see forget_threads()
  *place = waiter.next;
  note_earliest();
}

void Waiters::forget_threads() {
  const MutexLock lock(mutex_);
  first_ = nullptr;
  note_earliest();
}

// The order of a device has other numbers, so a thread that waits for one of those looks again after every operation.
void Waiters::note_earliest() {
  std::uint64_t earliest = never;
  for (const Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) {
    earliest = std::min(earliest, waiter->goal.order == nullptr ? waiter->goal.number : 0);
  }
  earliest_.store(earliest, std::memory_order_seq_cst);
}

void Waiters::end() {
  constexpr int tries = 200;
  have_ended_.store(true, std::memory_order_seq_cst);
  for (int i = 0; i < tries; ++i) {
    if (mutex_.try_lock()) {
      for (Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) waiter->sleep.wake(1);
      return mutex_.unlock();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Waiters::wake_reached() {
  const MutexLock lock(mutex_);
  for (Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) {
    if (ring_.reached(waiter->goal)) waiter->sleep.wake(1);
  }
}

}  // namespace asyncgrad::detail
