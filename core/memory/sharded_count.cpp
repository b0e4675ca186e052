#include "asyncgrad/core/memory/sharded_count.h"

#include <new>
#include <utility>

#include "asyncgrad/core/sync/at_thread_end.h"

namespace asyncgrad::detail {

// The shards of the calling thread. When the thread ends, other threads take them over.
struct ShardedCount::Thread {
  Shard* first;

  static void end(void* thread) {
    Shard* shard = std::exchange(static_cast<Thread*>(thread)->first, nullptr);
    known = {};
    while (shard != nullptr) {
      Shard* const next = shard->next_of_thread;
      shard->is_taken.store(false, std::memory_order_release);  // from here on it may be another thread's
      shard = next;
    }
  }
};

void ShardedCount::add_first(std::int64_t change) {
  Shard* const shard = shard_of_this_thread();
  if (shard == nullptr) {
    of_others_.fetch_add(change, std::memory_order_relaxed);
    return;
  }
  known[place_] = {this, shard};
  add_to(*shard, change);
}

// Null if there is no memory for one.
ShardedCount::Shard* ShardedCount::shard_of_this_thread() {
  static constinit thread_local Thread thread{};
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
  static const AtThreadEnd at_end(&Thread::end);
  at_end.ask(&thread);
  shard->next_of_thread = thread.first;
  thread.first = shard;
  return shard;
}

}  // namespace asyncgrad::detail
