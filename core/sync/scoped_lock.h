// Holds a lock for as long as a scope lasts. Internal.
#pragma once

#include <mutex>

#include "asyncgrad/core/sync/thread_safety.h"

namespace asyncgrad::detail {

// Replaces std::lock_guard and std::unique_lock, which clang's -Wthread-safety does not know. A scope may give the lock
// back for a while, with unlock() and lock().
template <class Lock>
class ASYNCGRAD_SCOPED_CAPABILITY ScopedLock {
 public:
  explicit ScopedLock(Lock& lock) ASYNCGRAD_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  // Adopts a lock that the caller has taken, and releases it at the end of the scope.
  ScopedLock(Lock& lock, std::adopt_lock_t) ASYNCGRAD_REQUIRES(lock) : lock_(lock) {}
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;
  ~ScopedLock() ASYNCGRAD_RELEASE() {
    if (is_held_) lock_.unlock();
  }

  void lock() ASYNCGRAD_ACQUIRE() {
    lock_.lock();
    is_held_ = true;
  }
  void unlock() ASYNCGRAD_RELEASE() {
    is_held_ = false;
    lock_.unlock();
  }

 private:
  Lock& lock_;
  bool is_held_ = true;
};

}  // namespace asyncgrad::detail
