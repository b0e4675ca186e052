// Operations that nobody but the front end knows of yet. Internal.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// The last operations that were queued: tiny ones of one executor. If each were offered at once, a thread right behind
// the front end would compute it, and with each operation the two would take from each other the cache lines of the
// record, of the storages and of the ready set. So they are offered together: when they are many, when something longer
// is queued, when a thread waits, or when a worker is about to sleep. Until then the front end links them to each other
// by plain stores.
//
// Thread safety: under the front end's lock.
// Invariant: no other thread comes to the record of one of them before they are offered.
class Batch {
 public:
  static constexpr std::uint64_t most = 64;  // worth telling another thread

  // "`edge` belongs into the list of operation `predecessor`", which is not in the batch: others may come to that list.
  struct Tie {
    Edge* edge;
    std::uint64_t predecessor;
  };

  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == most; }
  bool has(std::uint64_t number) const { return number - first_ < count_; }
  // If there are any: the executor of all, and the number of the first.
  Executor* executor() const { return executor_; }
  std::uint64_t first() const { return first_; }
  // Bit i stands for `first` + i: those that wait for nothing; those that have ties.
  std::uint64_t ready() const { return ready_; }
  std::uint64_t tied() const { return tied_; }
  const std::vector<Tie>& ties() const { return ties_; }

  // Room for so many ties more. Throws std::bad_alloc with nothing changed; no other function throws.
  void reserve(std::size_t ties) {
    if (ties_.size() + ties > ties_.capacity()) ties_.reserve(2 * (ties_.size() + ties));
  }
  // A tie of the operation that is added next.
  void tie(Edge& edge, std::uint64_t predecessor) { ties_.push_back({&edge, predecessor}); }
  // The next operation in the order of the program, with all of its edges.
  void add(Operation& operation) {
    const std::uint64_t bit = std::uint64_t{1} << count_;
    if (count_ == 0) {
      executor_ = &executor_of(operation);
      first_ = operation.number;
    }
    ++count_;
    const bool has_ties = !ties_.empty() && ties_.back().edge->successor == &operation;
    if (has_ties || executor_->is_asynchronous()) {  // on an asynchronous device it may be in further lists
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
