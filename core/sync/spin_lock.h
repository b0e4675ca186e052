// A lock whose waiters spin. Internal.
#pragma once

#include <atomic>

#include "asyncgrad/core/sync/scoped_lock.h"
#include "asyncgrad/core/sync/thread_safety.h"

namespace asyncgrad::detail {

// Lets the other hardware thread run while this one spins.
inline void pause_briefly() { __builtin_ia32_pause(); }

// A lock for sections of some dozens of instructions, in which the holder does not wait.
class ASYNCGRAD_CAPABILITY("spin lock") SpinLock {
 public:
  void lock() ASYNCGRAD_ACQUIRE() {
    // Acquire: what the last holder wrote is seen.
    while (locked_.exchange(true, std::memory_order_acquire)) wait_until_free();
  }
  // Acquire: as above. Relaxed: a thread that finds it locked does not take the cache line from its holder.
  bool try_lock() ASYNCGRAD_TRY_ACQUIRE(true) {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  // Release: publishes what this holder wrote.
  void unlock() ASYNCGRAD_RELEASE() { locked_.store(false, std::memory_order_release); }

 private:
  void wait_until_free() const;

  std::atomic<bool> locked_{false};
};

using SpinLockGuard = ScopedLock<SpinLock>;

}  // namespace asyncgrad::detail
