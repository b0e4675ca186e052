// A maximum that several threads raise. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// Makes `max` at least `value`.
inline void raise_to(std::atomic<std::int64_t>& max, std::int64_t value, std::memory_order order) {
  std::int64_t before = max.load(std::memory_order_relaxed);
  while (before < value && !max.compare_exchange_weak(before, value, order, std::memory_order_relaxed)) {
  }
}

}  // namespace asyncgrad::detail
