// A sum that many threads change all the time. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// Each thread adds to a shard of its own, with plain loads and stores, so that no cache line moves between cores. Any
// thread may call any function. It is never destroyed, because threads refer to it until they end.
class ShardedCount {
 public:
  ShardedCount() : place_(made.fetch_add(1, std::memory_order_relaxed) % places) {}
  ShardedCount(const ShardedCount&) = delete;
  ShardedCount& operator=(const ShardedCount&) = delete;

  void add(std::int64_t change) {
    const Known& mine = known[place_];
    if (mine.count != this) return add_first(change);
    add_to(*mine.shard, change);
  }
  // Includes every change that this thread made before the call, and those of other threads with which it has
  // synchronised since. It may include some of the changes that others make meanwhile: of two changes perhaps only the
  // later one.
  std::int64_t total() const {
    std::int64_t total = of_others_.load(std::memory_order_relaxed);
    for (const Shard* shard = first_.load(std::memory_order_acquire); shard != nullptr; shard = shard->next) {
      total += shard->value.load(std::memory_order_relaxed);
    }
    return total;
  }

 private:
  static constexpr std::size_t places = 16;

  struct alignas(128) Shard {
    std::atomic<std::int64_t> value{0};  // relaxed: one thread writes, and what others must see it passes on by itself
    std::atomic<bool> is_taken{true};    // acquire, release: from the thread that ends to the one that goes on with it
    const ShardedCount* of;
    Shard* next;                     // of the same count
    Shard* next_of_thread{nullptr};  // of the thread that has it
  };
  // The shard of the calling thread in a count. The place of a shard is found from the count's address; another count
  // may have the same place.
  struct Known {
    const ShardedCount* count;
    Shard* shard;
  };
  struct Thread;

  static void add_to(Shard& shard, std::int64_t change) {
    shard.value.store(shard.value.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  void add_first(std::int64_t change);
  Shard* shard_of_this_thread();

  static inline std::atomic<std::size_t> made{0};  // relaxed: a number for each
  static inline constinit thread_local std::array<Known, places> known{};

  const std::size_t place_;
  std::atomic<Shard*> first_{nullptr};      // release, acquire: a shard is seen whole
  std::atomic<std::int64_t> of_others_{0};  // by threads without a shard; relaxed as those
};

}  // namespace asyncgrad::detail
