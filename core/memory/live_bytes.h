// Counts the live memory of a device. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "asyncgrad/core/sync/raise_to.h"

namespace asyncgrad::detail {

// Live bytes and their peak, exact to the byte: every change is a step of one number, and the peak is the largest value
// that it had.
//
// Thread safety: any thread may call any function.
//
// Orderings: all are sequentially consistent, but approximate().
// - Admission learns of returned memory after subtract(), and what it then admits is counted after. So live memory
//   never seems to pass the limit.
// - add() counts and then reads the peak; reset_peak() writes the peak and then reads the count. One of the two sees
//   the other, so that no maximum is lost.
// - LiveRecording relies on the same for its flag.
class LiveBytes {
 public:
  // Both return what is live after the change.
  std::int64_t add(std::int64_t size_bytes) {
    const std::int64_t live_bytes = live_bytes_.fetch_add(size_bytes, std::memory_order_seq_cst) + size_bytes;
    if (live_bytes > peak_bytes_.load(std::memory_order_seq_cst)) raise_peak(live_bytes);
    return live_bytes;
  }
  std::int64_t subtract(std::int64_t size_bytes) {
    return live_bytes_.fetch_sub(size_bytes, std::memory_order_seq_cst) - size_bytes;
  }

  std::int64_t now() const { return live_bytes_.load(std::memory_order_seq_cst); }
  // Relaxed: for decisions that are right whatever other threads change meanwhile.
  std::int64_t approximate() const { return live_bytes_.load(std::memory_order_relaxed); }
  // Returns the peak, but at least `live_bytes`, which the caller has just read: a thread that has just added may not
  // have raised the peak yet.
  std::int64_t peak(std::int64_t live_bytes) const {
    return std::max(live_bytes, peak_bytes_.load(std::memory_order_seq_cst));
  }
  // Starts the peak again from what is live. Memory that another thread takes meanwhile either finds the new peak, or
  // is live at the second look.
  void reset_peak() {
    peak_bytes_.store(now(), std::memory_order_seq_cst);
    raise_peak(now());
  }

 private:
  // Not inlined, because a peak is rare and every operation calls take().
  [[gnu::noinline]] void raise_peak(std::int64_t live_bytes) {
    raise_to(peak_bytes_, live_bytes, std::memory_order_seq_cst);
  }

  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> peak_bytes_{0};
};

}  // namespace asyncgrad::detail
