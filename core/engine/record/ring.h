// The operations that are queued, in the order of the program. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/record/huge_pages.h"
#include "asyncgrad/core/engine/record/operation.h"

namespace asyncgrad::detail {

// The records, and f: the oldest unfinished operation. Any thread may call any function but make().
//
// Invariants:
// 1. f only grows; every operation older than it is finished, with all that it did visible to whoever reads f.
// 2. At most as many operations are unfinished as there are slots.
class Ring {
 public:
  using Records = std::vector<Operation, HugePages<Operation>>;

  // While nothing is queued: room for at least `operations`. False: the records are those that were there.
  bool make(std::size_t operations) {
    const std::size_t slots = std::max<std::size_t>(64, std::bit_ceil(operations));
    if (slots == records_.size()) return false;
    records_ = Records(slots);
    slot_mask_ = slots - 1;
    return true;
  }
  std::size_t slots() const { return records_.size(); }
  std::size_t slot(std::uint64_t number) const { return number & slot_mask_; }
  Operation& at(std::uint64_t number) { return records_[number & slot_mask_]; }
  const Operation& at(std::uint64_t number) const { return records_[number & slot_mask_]; }
  const Records& records() const { return records_; }

  // f. Sequentially consistent wherever a sleeping thread or an admission depends on it; see Admission's invariant 3.
  const std::atomic<std::uint64_t>& oldest() const { return oldest_; }
  // Once true, always true. The record first: if it is a later operation's by then, f has passed `number`.
  bool finished(std::uint64_t number) const {
    return at(number).finished.load(std::memory_order_seq_cst) == number ||
           number < oldest_.load(std::memory_order_seq_cst);
  }
  // Moves f past what is finished. Calls `arrived` with each number that it comes to. True if it made a step.
  template <class Arrived>
  bool advance(const Arrived& arrived) {
    for (bool advanced = false;;) {
      std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
      if (at(oldest).finished.load(std::memory_order_seq_cst) != oldest) return advanced;
      if (!oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst)) continue;
      advanced = true;
      arrived(oldest + 1);
    }
  }

 private:
  std::size_t slot_mask_ = 0;
  Records records_;
  alignas(128) std::atomic<std::uint64_t> oldest_{1};
};

}  // namespace asyncgrad::detail
