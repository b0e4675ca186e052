// The threads that sleep until something is finished. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "asyncgrad/core/engine/ring/ring.h"
#include "asyncgrad/core/engine/threads/sleep.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// The threads of all executors that sleep until their goals are reached. Any thread may call any function.
//
// No wake-up is lost: a thread that waits is in the list before it looks for its goal a last time, and a thread that
// finishes an operation looks at the list afterwards. Both are store-then-load pairs and sequentially consistent.
class Waiters {
 public:
  explicit Waiters(const Ring& ring) : ring_(ring) {}

  // Sleeps until the goal is reached, or all waits end. Takes no memory.
  void sleep_until(const Goal& goal);
  // Does the same, but asks `is_interrupted` now and then. Returns false if that has returned true.
  bool sleep_until(const Goal& goal, const std::function<bool()>& is_interrupted);
  // Called when operation `number` is finished, and everything before `oldest`.
  void wake(std::uint64_t number, std::uint64_t oldest) {
    if (std::max(number, oldest) >= earliest_.load(std::memory_order_seq_cst)) wake_reached();
  }

  // Ends all waits, also those that begin later: nothing more will be finished. They may return before their goals are
  // reached. A signal handler may have interrupted the holder of the list's lock, which is tried for some 20 ms: then
  // those who sleep without asking go on sleeping.
  void end();
  bool have_ended() const { return have_ended_.load(std::memory_order_seq_cst); }
  // Whether a wait for the goal ends: it is reached, or all waits have ended.
  bool is_over(const Goal& goal) const { return ring_.reached(goal) || have_ended(); }

  // Called around a fork: no other thread holds the list's lock meanwhile, which the child would inherit without its
  // holder.
  void hold_still() ASYNCGRAD_ACQUIRE(mutex_) { mutex_.lock(); }
  void let_go_on() ASYNCGRAD_RELEASE(mutex_) { mutex_.unlock(); }
  // Called in the child of a fork, in which no thread waits.
  void forget_threads();

 private:
  static constexpr std::uint64_t never = UINT64_MAX;

  // The node lies on the stack of the thread that waits.
  struct Waiter {
    const Goal& goal;
    Waiter* next = nullptr;
    Sleep sleep{};
  };

  void add(Waiter& waiter);
  void remove(const Waiter& waiter);
  void wake_reached();
  void note_earliest() ASYNCGRAD_REQUIRES(mutex_);

  const Ring& ring_;
  Mutex mutex_;
  Waiter* first_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  // The smallest number of a goal: before that is finished, no goal is reached.
  alignas(128) std::atomic<std::uint64_t> earliest_{never};
  // Sequentially consistent, as a goal: a thread that waits is in the list before it looks.
  std::atomic<bool> have_ended_{false};
};

}  // namespace asyncgrad::detail
