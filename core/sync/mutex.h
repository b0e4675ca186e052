// A lock whose waiters sleep. Internal.
#pragma once

#include <mutex>

#include "asyncgrad/core/sync/scoped_lock.h"
#include "asyncgrad/core/sync/thread_safety.h"

namespace asyncgrad::detail {

// std::mutex, checked by clang's -Wthread-safety.
class ASYNCGRAD_CAPABILITY("mutex") Mutex {
 public:
  void lock() ASYNCGRAD_ACQUIRE() { mutex_.lock(); }
  bool try_lock() ASYNCGRAD_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() ASYNCGRAD_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

using MutexLock = ScopedLock<Mutex>;

}  // namespace asyncgrad::detail
