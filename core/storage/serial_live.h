// What would be live if everything ran at its call. Internal.
#pragma once

#include <atomic>
#include <cstdint>

#include "asyncgrad/core/storage/kept_count.h"

namespace asyncgrad::detail {

// The bytes of a device's storages that have a handle. Any thread may call any function.
//
// Every tensor changes it twice, and mostly by what the one before has given back. So a thread keeps small changes to
// itself until it looks: what it sees includes all of its own, as program order asks, and of every other thread's all
// but 4 KiB at most, until that thread looks or ends.
class SerialLive {
 public:
  void add(std::int64_t bytes) {
    if (kept.of != this && !keep_count_of(*this)) {
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
      return;
    }
    kept.bytes += bytes;
    if (is_much_to_keep(kept.bytes)) tell_kept();
  }
  std::int64_t now() {
    if (kept.of == this) tell_kept();
    return bytes_.load(std::memory_order_relaxed);  // relaxed: a sum, nothing is read through it
  }

 private:
  friend bool keep_count_of<SerialLive>(SerialLive& total);
  // Of the calling thread.
  struct Kept {
    SerialLive* of;  // null: it keeps none
    std::int64_t bytes;
    bool is_over;  // the thread ends
  };

  static void tell_kept() {
    if (kept.bytes == 0) return;
    kept.of->bytes_.fetch_add(kept.bytes, std::memory_order_relaxed);
    kept.bytes = 0;
  }

  static inline constinit thread_local Kept kept{};

  alignas(128) std::atomic<std::int64_t> bytes_{0};
};

}  // namespace asyncgrad::detail
