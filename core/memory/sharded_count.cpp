#include "asyncgrad/core/memory/sharded_count.h"

#include <new>
#include <utility>

namespace asyncgrad::detail {

// The shards of the calling thread. When it ends others go on with them.
struct ShardedCount::Thread {
  Shard* first = nullptr;

  ~Thread() {
    while (first != nullptr) {
      Shard* const shard = std::exchange(first, first->next_of_thread);
      shard->is_taken.store(false, std::memory_order_release);  // from here on it may be another thread's
    }
    known = {};
    is_over = true;
  }

  // Beyond the end of the thread's own objects: its last tensors may end after them.
  static inline constinit thread_local bool is_over = false;
};

void ShardedCount::add_first(std::int64_t change) {
  Shard* const shard = Thread::is_over ? nullptr : shard_of_this_thread();
  if (shard == nullptr) {
    of_others_.fetch_add(change, std::memory_order_relaxed);
    return;
  }
  known[place_] = {this, shard};
  add_to(*shard, change);
}

// Null if there is no memory for one.
ShardedCount::Shard* ShardedCount::shard_of_this_thread() {
  thread_local Thread thread;
  for (Shard* shard = thread.first; shard != nullptr; shard = shard->next_of_thread) {
    if (shard->of == this) return shard;
  }
  Shard* shard = first_.load(std::memory_order_acquire);
  while (shard != nullptr && shard->is_taken.exchange(true, std::memory_order_acquire)) shard = shard->next;
  if (shard == nullptr) {
    shard = new (std::nothrow) Shard{.of = this, .next = first_.load(std::memory_order_relaxed)};
    if (shard == nullptr) return nullptr;
    while (!first_.compare_exchange_weak(shard->next, shard, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  shard->next_of_thread = thread.first;
  thread.first = shard;
  return shard;
}

}  // namespace asyncgrad::detail
