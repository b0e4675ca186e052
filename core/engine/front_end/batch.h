// Operations that nobody but the front end knows of yet. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/record/operation.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// The last operations that were queued: short ones of one stream. Known one by one, they would be computed by a thread
// right behind the one that queues, and each would take from the other, with each operation, the lines of records, of
// storages and of the ready set; and each would be linked to those that it waits for by atomic steps, where plain ones
// do as long as nobody looks. So they are offered together, when they are many, when there is something longer to
// compute, when a thread waits, or when a worker is about to sleep. And who waits for the first of them at once
// computes it itself, before another thread hears of it.
//
// Thread safety: under the front end's lock; any() without it is a hint. Hence relaxed throughout.
// Invariant: no other thread comes to the record of one of them, but for its atomics, before they are being offered.
// Then some may run while others are still being tied, from the lists of those that are held no more.
class Held {
 public:
  static constexpr std::uint64_t most = 64;  // so far apart, at most; worth telling another thread

  // "`edge` belongs into the list of operation `predecessor`", which is not held: others may come to that list.
  struct Tie {
    Edge* edge;
    std::uint64_t predecessor;
  };

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  bool is_full() const { return count_.load(std::memory_order_relaxed) == most; }
  bool has(std::uint64_t number) const { return number - first_ < count_.load(std::memory_order_relaxed); }
  // If there are any: the stream of all, the number of the first.
  Stream* stream() const { return stream_; }
  std::uint64_t first() const { return first_; }
  // Bit i stands for `first` + i. Those that wait for nothing; those whose linking has not ended, as they have ties.
  std::uint64_t ready() const { return ready_; }
  std::uint64_t open() const { return open_; }
  const std::vector<Tie>& ties() const { return ties_; }

  // Of the operation that is added next.
  void tie(Edge& edge, std::uint64_t predecessor) { ties_.push_back({&edge, predecessor}); }
  // The next one in the order of the program, with all of its edges. What is not short has to be offered at once.
  void add(Operation& operation) {
    const std::uint64_t place = count_.load(std::memory_order_relaxed), bit = std::uint64_t{1} << place;
    if (place == 0) {
      stream_ = &stream_of(operation);
      first_ = operation.number;
    }
    const bool has_ties = !ties_.empty() && ties_.back().edge->successor == &operation;
    if (has_ties || stream_->is_asynchronous()) {  // there it may be in other lists, too
      open_ |= bit;
    } else {
      operation.pending.store(operation.edge_count, std::memory_order_relaxed);
      if (operation.edge_count == 0) ready_ |= bit;
    }
    count_.store(place + 1, std::memory_order_relaxed);
  }
  // After they were offered.
  void clear() {
    count_.store(0, std::memory_order_relaxed);
    ready_ = open_ = 0;
    ties_.clear();
  }

 private:
  std::atomic<std::uint64_t> count_{0};
  std::uint64_t first_ = 0;
  Stream* stream_ = nullptr;
  std::uint64_t ready_ = 0, open_ = 0;
  std::vector<Tie> ties_;
};

}  // namespace asyncgrad::detail
