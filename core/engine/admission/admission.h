// Which operations may take memory ahead of their order, on one device. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "asyncgrad/core/engine.h"

namespace asyncgrad::detail {

// The admission rule. S(k), the serial level, is what would be live while operation k ran if everything ran at its
// call: the bytes of all storages with a handle just after the outputs of k exist. L is the larger of the budget and of
// the largest S that is not forgotten, f the oldest unfinished operation, E the bytes taken early: by started
// operations younger than f, results computed at the call and data handed over included, as long as they are not
// returned. R is the reserve, a little of L for small operations that a thread waits for. A are the bytes of it that
// they have taken early, which E leaves out.
//
//   Operation j starts if j = f, or if max S(k) over f <= k < j, plus E, plus bytes(j), is at most L - R.
//   If a thread waits for j, it also starts if A + bytes(j) is at most R, and max S(k) over f <= k < j at most L - R.
//
// Why live memory never passes L: what operations up to f hold is part of S(f), so live <= S(f) + E + A; each early
// start was checked for every k that it can overlap, so S(f) + E <= L - R while there are any, and A <= R. R grows with
// L, and L - R, too. The oldest of all depends on nothing unfinished and is f on every device that it touches, so
// something can always start. A stale f or S, or an E that is too high, can only refuse an operation that would fit.
//
// Without a reserve a wait for a small operation would be long: operations that are ready ahead of a large program fill
// the last byte below L.
//
// Thread safety: functions that say so are called under the front end's lock; any thread may call the others at any
// time.
// Invariants:
// 1. The tree's leaf of k, and every node whose leaves all lie between f and the youngest operation, do not change
//    while k is unfinished: the front end writes a leaf when it queues, before the operation can become ready.
// 2. E and A are the sums of the slots' early words. A slot's word belongs to the one operation that its generation
//    identifies. Its bytes are taken out of them once, by whoever comes first: the return of the memory, f's arrival at
//    the operation, or the next owner of the slot.
// 3. f's arrival and an admission that is under way agree through f alone: admission writes the slot's word and then
//    reads f; arrival writes f and then reads the slot's word. These, like "finished, then f" and "refused, then f" in
//    the engine, are store-then-load pairs and need sequential consistency.
class Admission {
 public:
  // The automatic budget allows at least this much above the serial peak. Without it a small program would wait again
  // and again for memory that costs nothing.
  static constexpr std::int64_t min_spare_bytes = std::int64_t{1} << 18;
  static constexpr std::int64_t max_reserve_bytes = std::int64_t{1} << 15;
  // A slot's early word: the cache lines of E, those of A, and the generation. 2^34 cache lines are 1 TiB. A generation
  // repeats after so many operations that no memory that was taken early should still be held.
  static constexpr int line_bits = 34, reserve_line_bits = 10, generation_place = line_bits + reserve_line_bits;

  explicit Admission(std::size_t slots);  // a power of two

  // --- Under the front end's lock. ---
  // Counts what would be live now, if everything ran at its call, into the next operation's serial level. True if L
  // rose.
  bool note_level(std::int64_t serial_bytes) {
    level_since_queued_ = std::max(level_since_queued_, serial_bytes);
    return raise_level(serial_bytes);
  }
  std::int64_t level_since_queued() const { return level_since_queued_; }
  // Called before operation `number` can start: its serial level is the largest level noted since the last operation
  // was queued.
  void queue(std::uint64_t number) { queue(number, std::exchange(level_since_queued_, 0)); }
  void queue(std::uint64_t number, std::int64_t serial_bytes);
  // Raises L for memory that belongs to no queued operation. True if L rose.
  bool raise_level(std::int64_t serial_bytes) {
    // Relaxed: a figure, which only front ends write.
    if (serial_bytes > serial_peak_.load(std::memory_order_relaxed)) {
      serial_peak_.store(serial_bytes, std::memory_order_relaxed);
    }
    if (!is_largest(serial_bytes)) return false;
    set_largest(serial_bytes);
    return true;
  }
  bool is_largest(std::int64_t serial_bytes) const { return serial_bytes > largest_serial_; }
  // Sets the level that L follows from now on. While nothing is unfinished, L may fall to what is live.
  void set_largest(std::int64_t serial_bytes);
  // Starts the serial peak again. L stays.
  void reset_serial_peak(std::int64_t serial_bytes) {
    serial_peak_.store(serial_bytes, std::memory_order_relaxed);
    level_since_queued_ = 0;
  }

  // --- By any thread. ---

  // True if operation `number` may take `bytes` now; they are then counted. `oldest` is f. `held`: further live bytes,
  // which are neither part of E nor of a serial level. If they do not fit, even the oldest operation is refused.
  // `is_awaited`: a thread waits for the operation, which may use the reserve.
  bool admit(std::uint64_t number, std::int64_t bytes, const std::atomic<std::uint64_t>& oldest, std::int64_t held = 0,
             bool is_awaited = false) {
    if (bytes == 0 || limit() == unlimited) return true;
    const std::uint64_t first = oldest.load(std::memory_order_seq_cst);
    // Always admitted: the oldest operation, or one that is computed at its call while nothing is unfinished.
    if (first >= number && held == 0) return true;
    return first >= number ? fits_at_last(number, held) : admit_early(number, first, bytes, oldest, held, is_awaited);
  }
  // Whether an operation that no thread waits for, at `number` or behind it, might be admitted with `bytes` or more.
  bool may_fit(std::uint64_t number, std::int64_t bytes, const std::atomic<std::uint64_t>& oldest) const;
  // Whether the memory that `number` took is still counted as early. Once the operation has taken memory and this is
  // false, it stays false: a storage that reads false need not report its end, see Storage::taken_early.
  bool is_early(std::uint64_t number) const {
    const std::uint64_t word = early_word_[number & (slots_ - 1)].load(std::memory_order_seq_cst);  // invariant 3
    return word << (64 - generation_place) != 0 && word >> generation_place == generation(number);
  }
  // Called when memory that `number` took has been returned.
  void give_back(std::uint64_t number, std::int64_t bytes) { remove(number, bytes); }
  // Called when f has arrived at `number`: from now on the memory that it took is part of the serial level.
  void arrive(std::uint64_t number) { remove(number, unlimited); }

  // Starts again, with what is live, while nothing is unfinished: no memory counts as early then.
  void start(MemoryBudget budget, std::int64_t serial_bytes);

  std::int64_t serial_peak() const { return serial_peak_.load(std::memory_order_relaxed); }  // a figure, for reports
  std::int64_t limit() const { return limit_.load(std::memory_order_relaxed); }              // L; INT64_MAX: unbounded
  // How far `live_bytes` are above a budget given in bytes; 0 under any other budget. A figure
  std::int64_t excess(std::int64_t live_bytes) const {
    const MemoryBudget budget = budget_.load(std::memory_order_relaxed);
    const bool is_bounded = !budget.is_automatic() && !budget.is_unbounded();
    return is_bounded ? std::max<std::int64_t>(0, live_bytes - budget.bytes()) : 0;
  }
  std::int64_t early_bytes() const {  // E + A; a figure
    return early_bytes_.load(std::memory_order_relaxed) + reserve_taken_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t unlimited = INT64_MAX;

  bool fits_at_last(std::uint64_t number, std::int64_t held) const;
  bool admit_early(std::uint64_t number, std::uint64_t first, std::int64_t bytes,
                   const std::atomic<std::uint64_t>& oldest, std::int64_t held, bool is_awaited);
  std::int64_t room_for(std::uint64_t number, std::uint64_t first) const {
    const std::int64_t limit = this->limit();
    return limit - reserve_of(limit) - largest_serial(first, number);
  }
  static std::int64_t reserve_of(std::int64_t limit) { return std::min(limit / 16, max_reserve_bytes); }
  static bool take(std::atomic<std::int64_t>& taken, std::int64_t bytes, std::int64_t max_bytes);
  void take_back(std::uint64_t word);
  std::int64_t budget_for(std::int64_t serial_peak) const;
  std::int64_t largest_serial(std::uint64_t first, std::uint64_t last) const;  // over [first, last)
  std::int64_t largest_leaf(std::size_t begin, std::size_t end) const;
  void remove(std::uint64_t number, std::int64_t max_bytes) {
    if (is_early(number)) take_out(number, max_bytes);
  }
  void take_out(std::uint64_t number, std::int64_t max_bytes);
  std::uint64_t generation(std::uint64_t number) const {
    return (number >> slot_bits_) & ((std::uint64_t{1} << (64 - generation_place)) - 1);
  }

  std::size_t slots_;
  int slot_bits_;
  std::atomic<MemoryBudget> budget_{};                  // written under the front end's lock
  std::vector<std::atomic<std::int64_t>> tree_;         // of maxima; the leaves are the second half
  std::vector<std::atomic<std::uint64_t>> early_word_;  // of a slot
  alignas(128) std::atomic<std::int64_t> limit_{0};
  // These have a cache line of their own: the front end writes them for every operation, and workers read L for every
  // operation.
  alignas(128) std::atomic<std::int64_t> serial_peak_{0};  // the largest S since reset_serial_peak
  std::int64_t level_since_queued_ = 0;
  std::int64_t largest_serial_ = 0;  // the largest S that is not forgotten: what L never goes below
  alignas(128) std::atomic<std::int64_t> early_bytes_{0};  // E
  std::atomic<std::int64_t> reserve_taken_{0};             // A
};

}  // namespace asyncgrad::detail
