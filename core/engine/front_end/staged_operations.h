// The operations that were queued and not yet offered to an executor. Internal.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// The youngest queued operations: tiny ones of one executor, and perhaps a large one at the end. If each were offered
// at once, a worker right behind the front end would compute it, and for each operation the two threads would take the
// cache lines of its entry, of its storages and of the ready set from each other. So they are offered together: when
// they are many, when a large operation is queued, when a thread waits, or when a worker is about to sleep. Until then
// the front end links them to each other by plain stores.
//
// Thread safety: under the front end's lock.
// Invariant: no other thread reads or writes the entry of a staged operation.
class StagedOperations {
 public:
  static constexpr std::uint64_t max_count = 64;  // one bit each in ready() and tied(); worth waking a thread for

  // `edge` has to be added to the successors of `predecessor`, which is not staged: other threads may use that list.
  struct Tie {
    Edge* edge;
    std::uint64_t predecessor;
  };

  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == max_count; }
  bool has(std::uint64_t number) const { return number - first_ < count_; }
  // The executor of all of them, and the number of the first. Called only if there are any.
  Executor* executor() const { return executor_; }
  std::uint64_t first() const { return first_; }
  // Bit i stands for `first` + i: the operations that wait for nothing; those that have ties.
  std::uint64_t ready() const { return ready_; }
  std::uint64_t tied() const { return tied_; }
  const std::vector<Tie>& ties() const { return ties_; }

  // Makes room for `ties` more ties. Throws std::bad_alloc with nothing changed; no other function throws.
  void reserve(std::size_t ties) {
    if (ties_.size() + ties > ties_.capacity()) ties_.reserve(2 * (ties_.size() + ties));
  }
  // Adds a tie of the operation that is added next.
  void tie(Edge& edge, std::uint64_t predecessor) { ties_.push_back({&edge, predecessor}); }
  // Adds the next operation in the order of the program. All of its edges have been made.
  void add(Operation& operation) {
    const std::uint64_t bit = std::uint64_t{1} << count_;
    if (count_ == 0) {
      executor_ = &executor_of(operation);
      first_ = operation.number;
    }
    ++count_;
    const bool has_ties = !ties_.empty() && ties_.back().edge->successor == &operation;
    if (has_ties || executor_->is_asynchronous()) {  // on an asynchronous device it may also be in lists of issue
      tied_ |= bit;
    } else {
      operation.pending.store(operation.edge_count, std::memory_order_relaxed);
      if (operation.edge_count == 0) ready_ |= bit;
    }
  }
  void clear() {
    count_ = ready_ = tied_ = 0;
    ties_.clear();
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t first_ = 0;
  Executor* executor_ = nullptr;
  std::uint64_t ready_ = 0, tied_ = 0;
  std::vector<Tie> ties_;
};

}  // namespace asyncgrad::detail
