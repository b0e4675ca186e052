// The order of the operations that touch one device. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/engine/record/order.h"

namespace asyncgrad::detail {

// A device's operations have numbers of their own beside those of the program, as an operation that takes long on one
// device would otherwise hold back what another device may begin: memory is admitted from the oldest unfinished
// operation on.
//
// Thread safety: next(), take_number() and has_room() under the front end's lock; order() by any thread.
class DeviceOrder {
 public:
  // `first`: larger than any number that the device has given out.
  DeviceOrder(std::size_t slots, std::uint64_t first) : order_(slots, first), next_(first), oldest_seen_(first) {}

  Order& order() { return order_; }
  const std::atomic<std::uint64_t>& oldest() const { return order_.oldest(); }  // f of the device
  std::uint64_t next() const { return next_; }
  std::uint64_t take_number() { return next_++; }
  // Whether the next number's slot is free. f lags behind only while a thread is on its way from an operation's end to
  // its step of f.
  bool has_room() {
    if (next_ - oldest_seen_ >= order_.slots()) oldest_seen_ = oldest().load(std::memory_order_seq_cst);
    return next_ - oldest_seen_ < order_.slots();
  }

 private:
  Order order_;
  alignas(128) std::uint64_t next_;
  std::uint64_t oldest_seen_;  // f as it was: reading it takes its cache line from the workers
};

}  // namespace asyncgrad::detail
