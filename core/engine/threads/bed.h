<<<<<<< HEAD:core/sync/sync.h
// Where threads sleep. Internal.
=======
// A place where a thread sleeps until it is woken. Internal.
>>>>>>> 22a77f0 (Memory, profile, origin, sync and backend lie below the engine):core/engine/threads/bed.h
#pragma once

#include <atomic>
#include <cstdint>

<<<<<<< HEAD:core/sync/sync.h
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// Sleep until `word` is no longer `value`, or for no reason; wake whoever sleeps on it. `wait_on` compares in the
// kernel after a full barrier, so a store to `word` followed by `wake` is never missed.
void wait_on(const std::atomic<std::uint32_t>& word, std::uint32_t value);
void wake(const std::atomic<std::uint32_t>& word);

=======
#include "asyncgrad/core/sync/futex.h"

namespace asyncgrad::detail {

>>>>>>> 22a77f0 (Memory, profile, origin, sync and backend lie below the engine):core/engine/threads/bed.h
// Where one thread sleeps. Thread safety: one owner sleeps; any thread wakes.
//
// The word is `sleeping` from announce() until somebody changes it to `awake`: the owner (cancel) or one waker
// (try_wake), decided by compare-and-exchange, so that a wake-up is paid for exactly once. A sleeper looks for work
// between announce() and sleep(); a waker makes work visible before try_wake(). Both orders need sequential
// consistency: one of them sees the other.
class Bed {
 public:
  void announce() { word_.store(sleeping, std::memory_order_seq_cst); }
  // True if the owner changed its mind before anybody woke it.
  bool cancel() { return change_to_awake(); }
  void sleep() const {
    while (word_.load(std::memory_order_acquire) == sleeping) wait_on(word_, sleeping);
  }
  // True if the owner was asleep, or about to be, and this call woke it.
  bool try_wake() {
    if (word_.load(std::memory_order_seq_cst) != sleeping || !change_to_awake()) return false;
    wake(word_);
    return true;
  }

 private:
  static constexpr std::uint32_t awake = 0, sleeping = 1;
  bool change_to_awake() {
    std::uint32_t expected = sleeping;
    return word_.compare_exchange_strong(expected, awake, std::memory_order_seq_cst);
  }

  std::atomic<std::uint32_t> word_{awake};
};

}  // namespace asyncgrad::detail
