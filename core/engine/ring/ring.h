// The operations that are queued, in the order of the program. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/engine/ring/huge_pages.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/ring/order.h"

namespace asyncgrad::detail {

// What a thread waits for.
struct Goal {
  std::uint64_t number = 0;
  bool all = false;              // everything older than `number` is finished; else: operation `number` is
  const Order* order = nullptr;  // the order of a device, if `number` is one of that; it goes with `all`
};

// The records, and the order in which they were queued. Any thread may call any function but make().
class Ring {
 public:
  using Records = std::vector<Operation, HugePages<Operation>>;

  // While nothing is queued, and `next` is the number of the next operation: room for at least `operations`. False: the
  // records are those that were there.
  bool make(std::size_t operations, std::uint64_t next) {
    const std::size_t slots = std::max<std::size_t>(64, std::bit_ceil(operations));
    if (slots == records_.size()) return false;
    std::unique_ptr<Order>& order = orders_[static_cast<std::size_t>(std::countr_zero(slots))];
    if (order == nullptr) order = std::make_unique<Order>(slots, next);
    records_ = Records(slots);
    order->pass_all_before(next);
    order_.store(order.get(), std::memory_order_release);
    return true;
  }
  std::size_t slots() const { return records_.size(); }
  std::size_t slot(std::uint64_t number) const { return number & (records_.size() - 1); }
  Operation& at(std::uint64_t number) { return records_[slot(number)]; }
  const Operation& at(std::uint64_t number) const { return records_[slot(number)]; }
  const Records& records() const { return records_; }

  // Acquire: it is seen whole.
  Order& order() { return *order_.load(std::memory_order_acquire); }
  const Order& order() const { return *order_.load(std::memory_order_acquire); }
  const std::atomic<std::uint64_t>& oldest() const { return order().oldest(); }
  bool is_finished(std::uint64_t number) const { return order().is_finished(number); }

  bool reached(const Goal& goal) const {
    const Order& order = goal.order == nullptr ? this->order() : *goal.order;
    const std::uint64_t oldest = order.oldest().load(std::memory_order_seq_cst);
    if (goal.all) return oldest >= goal.number;
    // When the oldest operation is finished f is about to move: a thread that looks again and again need not take the
    // line of its slot from the thread that computes it.
    return goal.number < oldest || (goal.number != oldest && order.is_finished(goal.number));
  }

 private:
  Records records_;
  // One for each size that was wanted, by its logarithm; they are kept, as a thread that waits may still be looking
  // into the one before: everything is finished there.
  std::array<std::unique_ptr<Order>, 64> orders_;
  std::atomic<Order*> order_{nullptr};
};

}  // namespace asyncgrad::detail
