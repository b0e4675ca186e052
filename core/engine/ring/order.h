// The order of numbered operations, and how far they are finished. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace asyncgrad::detail {

// Operations finish in any order; f is the oldest one that is unfinished. Any thread may call any function.
//
// Invariants:
// 1. f only grows; every operation older than it is finished, with all that it did visible to a thread that reads f.
// 2. There are at most as many operations that f has not passed as there are slots: a slot belongs to one of them at a
//    time.
class Order {
 public:
  // `slots`: a power of two. `first`: the first number.
  Order(std::size_t slots, std::uint64_t first) : done_(slots), oldest_(first) {}

  std::size_t slots() const { return done_.size(); }
  // f. Sequentially consistent wherever a sleeping thread or an admission depends on it; see Admission's invariant 3.
  const std::atomic<std::uint64_t>& oldest() const { return oldest_; }

  // Stays true once it is true. Reads the slot first: if the slot belongs to a later operation by then, f has passed
  // `number`.
  bool is_finished(std::uint64_t number) const {
    return slot(number).load(std::memory_order_seq_cst) == number || number < oldest_.load(std::memory_order_seq_cst);
  }

  // Called while nothing is unfinished: everything older than `next` counts as finished.
  void pass_all_before(std::uint64_t next) { oldest_.store(next, std::memory_order_seq_cst); }
  // Called when operation `number` is finished: moves f past all finished operations, and calls `arrived` with each
  // number that f reaches.
  //
  // "Finished, then f" is a store and a load that must not change places. The caller looks for refused and sleeping
  // threads after this call, and these looks must not move before the store.
  template <class Arrived>
  void finish(std::uint64_t number, const Arrived& arrived) {
    std::atomic<std::uint64_t>& done = slot(number);
    if (oldest_.load(std::memory_order_relaxed) != number) {
      done.store(number, std::memory_order_seq_cst);
      advance(arrived);
      return;
    }
    // For the oldest operation f's own step is the barrier, unless another thread makes that step. The slot may belong
    // to another number by then, so the barrier is a read-modify-write of f that adds 0.
    done.store(number, std::memory_order_release);
    if (!advance(arrived)) oldest_.fetch_add(0, std::memory_order_seq_cst);
  }

 private:
  std::atomic<std::uint64_t>& slot(std::uint64_t number) { return done_[number & (done_.size() - 1)]; }
  const std::atomic<std::uint64_t>& slot(std::uint64_t number) const { return done_[number & (done_.size() - 1)]; }

  template <class Arrived>
  bool advance(const Arrived& arrived) {
    for (bool has_advanced = false;;) {
      std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
      if (slot(oldest).load(std::memory_order_seq_cst) != oldest) return has_advanced;
      if (!oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst)) continue;
      has_advanced = true;
      arrived(oldest + 1);
    }
  }

  std::vector<std::atomic<std::uint64_t>> done_;  // a slot: the number of the last of its operations that is finished
  alignas(128) std::atomic<std::uint64_t> oldest_;
};

}  // namespace asyncgrad::detail
