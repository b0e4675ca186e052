// A maximum that several threads raise. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// Makes `most` at least `value`.
inline void raise_to(std::atomic<std::int64_t>& most, std::int64_t value, std::memory_order order) {
  std::int64_t before = most.load(std::memory_order_relaxed);
  while (before < value && !most.compare_exchange_weak(before, value, order, std::memory_order_relaxed)) {
  }
}

}  // namespace asyncgrad::detail
