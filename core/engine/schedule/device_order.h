// The order of the operations that touch one device. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/schedule/admission.h"

namespace asyncgrad::detail {

// As the engine's ring, for one of several devices: without it an operation that takes long on one device would hold
// back what another device may begin, as memory is admitted from the oldest unfinished operation on. While there is one
// device alone the engine's order is the device's, and there is none of these.
//
// Thread safety: next() and take_number() under the front end's lock; all else by any thread at any time.
class DeviceOrder {
 public:
  // `first`: larger than any number that the device has given out.
  DeviceOrder(std::size_t slots, std::uint64_t first) : done_(slots), oldest_(first), next_(first) {}

  std::size_t slots() const { return done_.size(); }
  std::uint64_t next() const { return next_; }
  std::uint64_t take_number() { return next_++; }
  // A number's place in done_ is its own until f has passed it. f lags behind only as long as a thread is on its way
  // from an operation's end to finish().
  bool has_room() const { return next_ - oldest_.load(std::memory_order_seq_cst) < done_.size(); }

  // f of the device.
  const std::atomic<std::uint64_t>& oldest() const { return oldest_; }
  // The operation is done with the device's memory, but for what it has written or still reads from a copy queue.
  // "Done, then f" is a store-then-load pair, see Admission's invariant 3.
  void finish(std::uint64_t number, Admission& admission) {
    done_[number & (done_.size() - 1)].store(number, std::memory_order_seq_cst);
    for (;;) {
      std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
      if (done_[oldest & (done_.size() - 1)].load(std::memory_order_seq_cst) != oldest) return;
      if (!oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst)) continue;
      admission.arrive(oldest + 1);
    }
  }

 private:
  std::vector<std::atomic<std::uint64_t>> done_;  // a slot: the number, once it is done
  alignas(128) std::atomic<std::uint64_t> oldest_;
  alignas(128) std::uint64_t next_;
};

}  // namespace asyncgrad::detail
