#include "asyncgrad/core/sync/fork_locks.h"

#include <array>
#include <cstddef>

namespace asyncgrad::detail {

namespace {

struct Entry {
  void* lock = nullptr;
  void (*take)(void* lock) = nullptr;
  void (*give_back)(void* lock) = nullptr;
};

// The list needs no memory, because locks are added where none may be allocated.
struct List {
  static constexpr std::size_t max_count = 512;  // two for each device and backend, and some others; more are left out
  std::array<Entry, max_count> entries{};
  std::size_t count = 0;

  void add(const Entry& entry) {
    if (count < max_count) entries[count++] = entry;
  }
};

constinit Mutex lists_mutex;          // held through a fork, too
constinit std::array<List, 3> lists;  // by kind

template <class Lock>
void add_any(Lock& lock, ForkLocks::Kind kind) {
  const MutexLock guard(lists_mutex);
  lists[static_cast<std::size_t>(kind)].add(
      {.lock = &lock,
       .take = [](void* taken) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS { static_cast<Lock*>(taken)->lock(); },
       .give_back = [](void* taken) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS { static_cast<Lock*>(taken)->unlock(); }});
}

}  // namespace

void ForkLocks::add(Mutex& lock, Kind kind) noexcept { add_any(lock, kind); }
void ForkLocks::add(SpinLock& lock, Kind kind) noexcept { add_any(lock, kind); }

void ForkLocks::lock_all() {
  lists_mutex.lock();
  for (const List& list : lists) {
    for (std::size_t i = 0; i < list.count; ++i) list.entries[i].take(list.entries[i].lock);
  }
}

void ForkLocks::unlock_all() {
  for (const List& list : lists) {
    for (std::size_t i = 0; i < list.count; ++i) list.entries[i].give_back(list.entries[i].lock);
  }
  lists_mutex.unlock();
}

}  // namespace asyncgrad::detail
