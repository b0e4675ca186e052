// Locks that a fork holds. Internal.
#pragma once

#include <new>

#include "asyncgrad/core/sync/mutex.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// The child of a fork has none of the other threads. A lock that one of them held would never be free there, and what
// it guards might be half changed. So a fork takes these locks once nothing is under way any more, and parent and child
// release them.
//
// A fork always gets all of them, because it takes them from the outside in, and a thread that holds one waits for no
// operation and takes none but locks further in: under an outer lock inner and innermost ones, under an inner lock
// innermost ones, under an innermost lock none.
//
// Thread safety: any thread may add; lock_all() and unlock_all() are for the thread that forks.
class ForkLocks {
 public:
  enum class Kind { outer, inner, innermost };

  // Adds a lock, which forks hold from now on. It is never destroyed.
  static void add(Mutex& lock, Kind kind) noexcept;
  static void add(SpinLock& lock, Kind kind) noexcept;

  static void lock_all() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  static void unlock_all() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
};

// When the library is loaded, calls `get`, which makes an object at its first call. If another thread were making the
// object during a fork, no thread of the child would finish it. If there is no memory for the object, its first use
// makes it.
template <class Get>
bool made_at_load(Get get) noexcept {
  try {
    get();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace asyncgrad::detail
