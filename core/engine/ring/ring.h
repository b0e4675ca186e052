// The operations that are queued, in the order of the program. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "asyncgrad/core/engine/ring/awaited.h"
#include "asyncgrad/core/engine/ring/by_slots.h"
#include "asyncgrad/core/engine/ring/huge_pages.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/ring/order.h"

namespace asyncgrad::detail {

// The condition that a thread waits for.
struct Goal {
  std::uint64_t number = 0;
  bool all = false;              // everything older than `number` is finished; else: operation `number` is
  const Order* order = nullptr;  // the order of a device, if `number` is one of that; it goes with `all`
};

// The entries, and the order in which they were queued. Any thread may call any function but make().
class Ring {
 public:
  using Entries = std::vector<Operation, HugePages<Operation>>;

  // Makes room for at least `operations` entries, while nothing is queued; `next` is the number of the next operation.
  // Returns false if the ring had that size already and keeps its entries.
  bool make(std::size_t operations, std::uint64_t next) {
    const std::size_t slots = std::max<std::size_t>(64, std::bit_ceil(operations));
    if (slots == entries_.size()) return false;
    Order& order = orders_.get(slots, next);
    Entries entries(slots);
    awaited_.make(slots);  // from here on nothing throws: both have one size
    entries_ = std::move(entries);
    order.pass_all_before(next);
    order_.store(&order, std::memory_order_release);
    return true;
  }
  std::size_t slots() const { return entries_.size(); }
  std::size_t slot(std::uint64_t number) const { return number & (entries_.size() - 1); }
  Operation& at(std::uint64_t number) { return entries_[slot(number)]; }
  const Operation& at(std::uint64_t number) const { return entries_[slot(number)]; }
  const Entries& entries() const { return entries_; }

  // Acquire: it is seen whole.
  Order& order() { return *order_.load(std::memory_order_acquire); }
  const Order& order() const { return *order_.load(std::memory_order_acquire); }
  const std::atomic<std::uint64_t>& oldest() const { return order().oldest(); }
  bool is_finished(std::uint64_t number) const { return order().is_finished(number); }

  Awaited& awaited() { return awaited_; }
  const Awaited& awaited() const { return awaited_; }

  bool reached(const Goal& goal) const {
    const Order& order = goal.order == nullptr ? this->order() : *goal.order;
    const std::uint64_t oldest = order.oldest().load(std::memory_order_seq_cst);
    if (goal.all) return oldest >= goal.number;
    // If the oldest operation is finished, f is about to move: a thread that polls need not take the slot's cache line
    // from the thread that computes it.
    return goal.number < oldest || (goal.number != oldest && order.is_finished(goal.number));
  }

 private:
  Entries entries_;
  Awaited awaited_;
  BySlots<Order> orders_;  // a thread that waits may still read an old one, in which everything is finished
  std::atomic<Order*> order_{nullptr};
};

}  // namespace asyncgrad::detail
