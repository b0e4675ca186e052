// The order of the operations that touch one device. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/engine/ring/order.h"

namespace asyncgrad::detail {

// If there are several devices, the operations of each have numbers of their own beside those of the program. Otherwise
// a long operation on one device would hold back another device, because memory is admitted from the oldest unfinished
// operation on. If there is only one device, its operations have the program's numbers and order, so that each finishes
// in one order instead of two.
//
// Thread safety: next(), take_number() and has_room() under the front end's lock; all else by any thread.
class DeviceOrder {
 public:
  // `next` is the next number of the program's order; of another order it must be larger than any number that the device
  // has given out, and everything before it counts as finished there.
  DeviceOrder(Order& order, std::uint64_t next, bool is_of_program)
      : order_(order), is_of_program_(is_of_program), next_(next), oldest_seen_(next) {}

  Order& order() { return order_; }
  bool is_of_program() const { return is_of_program_; }
  const std::atomic<std::uint64_t>& oldest() const { return order_.oldest(); }  // f of the device
  std::uint64_t next() const { return next_; }
  std::uint64_t take_number() { return next_++; }
  // Whether the slot of the next number is free. f lags behind only between an operation's end and the step of f that
  // follows it.
  bool has_room() {
    if (next_ - oldest_seen_ >= order_.slots()) oldest_seen_ = oldest().load(std::memory_order_seq_cst);
    return next_ - oldest_seen_ < order_.slots();
  }

 private:
  Order& order_;
  const bool is_of_program_;
  alignas(128) std::uint64_t next_;
  std::uint64_t oldest_seen_;  // f as it was: reading it takes its cache line from the workers
};

}  // namespace asyncgrad::detail
