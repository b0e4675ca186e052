// The operations that threads wait for. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// A mark for each slot of the ring: a thread waits for the slot's operation, or for one that depends on it. Executors
// prefer marked operations, and these may take memory from the reserve. A mark is a hint: the order in which operations
// are tried depends on it, and which memory and thread serves them, but neither results nor bounds. So all accesses are
// relaxed. Marks of finished operations stay until their slot is used again, or the last wait is over and another one
// begins.
//
// Thread safety: any thread may call end(), any(), has() and word(); the other functions require the front end's lock.
class Awaited {
 public:
  // Called while nothing is queued.
  void make(std::size_t slots) { words_ = std::vector<std::atomic<std::uint64_t>>(divided_up(slots, 64)); }

  // Called around a wait.
  void begin() {
    if (waits_.fetch_add(1, std::memory_order_relaxed) != 0) return;
    for (std::atomic<std::uint64_t>& word : words_) word.store(0, std::memory_order_relaxed);
  }
  // A wait during which a thread forked ends in the child, too, after forget_threads().
  void end() {
    int waits = waits_.load(std::memory_order_relaxed);
    while (waits > 0 && !waits_.compare_exchange_weak(waits, waits - 1, std::memory_order_relaxed)) {
    }
  }
  // Called in the child of a fork, in which no thread waits.
  void forget_threads() { waits_.store(0, std::memory_order_relaxed); }

  void mark(std::size_t slot) { words_[slot / 64].fetch_or(bit(slot), std::memory_order_relaxed); }
  // Called when another operation gets the slot, too.
  void clear(std::size_t slot) {
    if (any() && has(slot)) words_[slot / 64].fetch_and(~bit(slot), std::memory_order_relaxed);
  }

  bool any() const { return waits_.load(std::memory_order_relaxed) != 0; }
  bool has(std::size_t slot) const { return (word(slot / 64) & bit(slot)) != 0; }
  // The marks of slots 64 i to 64 i + 63.
  std::uint64_t word(std::size_t i) const { return words_[i].load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t bit(std::size_t slot) { return std::uint64_t{1} << (slot % 64); }

  std::vector<std::atomic<std::uint64_t>> words_;
  alignas(128) std::atomic<int> waits_{0};  // read for each operation, and written by waits alone
};

}  // namespace asyncgrad::detail
