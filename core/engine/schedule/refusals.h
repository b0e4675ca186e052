// The operations of an executor that admission has refused. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// A mark, and the least that any of the refused operations asks for: the lowest place and the fewest bytes. Whoever
// makes room looks here and calls a thread only if so little would fit, because a call in vain costs a computing thread
// its core. Taking the mark forgets the least; until it is noted again, anything is taken to fit.
//
// Thread safety: any thread may call any function. All of it is sequentially consistent: "noted, then asked again" and
// "room made, then looked here" are store-then-load pairs.
class Refusals {
 public:
  // `place`: in the order of the executor's device.
  void note(std::uint64_t place, std::int64_t bytes) {
    lower(place_, place);
    lower(bytes_, bytes);
    is_marked_.store(true, std::memory_order_seq_cst);
  }
  // Notes an operation that may fit at any moment.
  void note_any() { note(0, 0); }

  bool is_marked() const { return is_marked_.load(std::memory_order_seq_cst); }
  // Takes the mark if `fits(place, bytes)`. True if the caller has taken it, and has to call a thread.
  template <class Fits>
  bool take(const Fits& fits) {
    if (!is_marked()) return false;
    const std::uint64_t place = place_.load(std::memory_order_seq_cst);
    const std::int64_t bytes = bytes_.load(std::memory_order_seq_cst);
    if (place != no_place && bytes != no_bytes && !fits(place, bytes)) return false;
    // Before the mark is taken: what a refusal notes meanwhile may be forgotten, but its mark is then taken after that, by
    // this thread or by another one, which calls a thread for it.
    place_.store(no_place, std::memory_order_seq_cst);
    bytes_.store(no_bytes, std::memory_order_seq_cst);
    return is_marked_.exchange(false, std::memory_order_seq_cst);
  }

 private:
  static constexpr std::uint64_t no_place = UINT64_MAX;
  static constexpr std::int64_t no_bytes = INT64_MAX;

  template <class T>
  static void lower(std::atomic<T>& least, T value) {
    T known = least.load(std::memory_order_seq_cst);
    while (value < known && !least.compare_exchange_weak(known, value, std::memory_order_seq_cst)) {
    }
  }

  std::atomic<bool> is_marked_{false};
  std::atomic<std::uint64_t> place_{no_place};
  std::atomic<std::int64_t> bytes_{no_bytes};
};

}  // namespace asyncgrad::detail
