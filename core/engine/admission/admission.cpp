#include "asyncgrad/core/engine/admission/admission.h"

#include <algorithm>
#include <bit>

namespace asyncgrad::detail {

namespace {

constexpr std::uint64_t bits(int count) { return (std::uint64_t{1} << count) - 1; }
constexpr std::int64_t max_early_bytes = static_cast<std::int64_t>(bits(Admission::line_bits)) * 64;
static_assert(Admission::max_reserve_bytes / 64 <= static_cast<std::int64_t>(bits(Admission::reserve_line_bits)));

// The parts of an early word.
constexpr std::uint64_t lines(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) / 64; }
constexpr std::uint64_t reserve_lines(std::int64_t bytes) { return lines(bytes) << Admission::line_bits; }
constexpr std::int64_t early_bytes_of(std::uint64_t word) {
  return static_cast<std::int64_t>(word & bits(Admission::line_bits)) * 64;
}
constexpr std::int64_t reserve_bytes_of(std::uint64_t word) {
  return static_cast<std::int64_t>(word >> Admission::line_bits & bits(Admission::reserve_line_bits)) * 64;
}

}  // namespace

Admission::Admission(std::size_t slots)
    : slots_(slots), slot_bits_(std::countr_zero(slots)), tree_(2 * slots), early_word_(slots) {}

void Admission::queue(std::uint64_t number, std::int64_t serial_bytes) {
  raise_level(serial_bytes);
  // Relaxed: the operation becomes visible to other threads by a release after this.
  std::size_t node = slots_ + (number & (slots_ - 1));
  tree_[node].store(serial_bytes, std::memory_order_relaxed);
  while (node > 1) {
    node /= 2;
    const std::int64_t largest =
        std::max(tree_[2 * node].load(std::memory_order_relaxed), tree_[2 * node + 1].load(std::memory_order_relaxed));
    if (tree_[node].load(std::memory_order_relaxed) == largest) break;  // and so are all above it
    tree_[node].store(largest, std::memory_order_relaxed);
  }
}

void Admission::set_largest(std::int64_t serial_bytes) {
  largest_serial_ = serial_bytes;
  // Relaxed: a thread that still reads the lower L may refuse an operation that fits, and the engine retries refused
  // operations after a rise. After a fall, every thread that reaches an operation queued later under the same lock
  // reads the new L.
  limit_.store(budget_for(largest_serial_), std::memory_order_relaxed);
}

bool Admission::fits_at_last(std::uint64_t number, std::int64_t held) const {
  const std::int64_t early =
      early_bytes_.load(std::memory_order_acquire) + reserve_taken_.load(std::memory_order_acquire);
  return largest_serial(number, number + 1) + early + held <= limit();
}

// The compare-and-exchange makes check and commitment one step. Acquire, and release where the sum falls: the memory
// that made room was counted as returned before.
bool Admission::take(std::atomic<std::int64_t>& taken, std::int64_t bytes, std::int64_t max_bytes) {
  std::int64_t before = taken.load(std::memory_order_relaxed);
  do {
    if (before + bytes > max_bytes) return false;
  } while (!taken.compare_exchange_weak(before, before + bytes, std::memory_order_acquire, std::memory_order_relaxed));
  return true;
}

// Takes what a word counts out of E and A.
void Admission::take_back(std::uint64_t word) {
  early_bytes_.fetch_sub(early_bytes_of(word), std::memory_order_release);
  if (reserve_bytes_of(word) > 0) reserve_taken_.fetch_sub(reserve_bytes_of(word), std::memory_order_release);
}

bool Admission::may_fit(std::uint64_t number, std::int64_t bytes, const std::atomic<std::uint64_t>& oldest) const {
  const std::uint64_t first = oldest.load(std::memory_order_seq_cst);
  return first >= number || early_bytes_.load(std::memory_order_seq_cst) + bytes <= room_for(number, first);
}

bool Admission::admit_early(std::uint64_t number, std::uint64_t first, std::int64_t bytes,
                            const std::atomic<std::uint64_t>& oldest, std::int64_t held, bool is_awaited) {
  const std::int64_t room = room_for(number, first) - held, reserve = reserve_of(limit());
  std::uint64_t taken = lines(bytes);
  if (!take(early_bytes_, bytes, std::min(room, max_early_bytes))) {
    if (!is_awaited || room < 0 || !take(reserve_taken_, bytes, reserve)) return false;
    taken = reserve_lines(bytes);
  }

  std::atomic<std::uint64_t>& word = early_word_[number & (slots_ - 1)];
  std::uint64_t before = word.load(std::memory_order_seq_cst);
  std::uint64_t after = 0;
  bool is_own = false;  // the operation has taken memory before
  do {
    // f may have arrived already. Then all of the memory is part of the serial level, and the word may belong to the
    // slot's next owner. If f arrives after this look, the exchange fails.
    if (oldest.load(std::memory_order_seq_cst) >= number) {
      take_back(taken);
      return true;
    }
    is_own = before >> generation_place == generation(number);
    after = (is_own ? before : generation(number) << generation_place) + taken;
  } while (!word.compare_exchange_weak(before, after, std::memory_order_seq_cst));  // invariant 3
  if (!is_own) take_back(before);

  if (oldest.load(std::memory_order_seq_cst) >= number) arrive(number);
  return true;
}

void Admission::take_out(std::uint64_t number, std::int64_t max_bytes) {
  std::atomic<std::uint64_t>& word = early_word_[number & (slots_ - 1)];
  std::uint64_t before = word.load(std::memory_order_seq_cst);
  std::uint64_t removed = 0;
  do {
    if (before >> generation_place != generation(number)) return;
    // The word does not say which of the two a piece of memory was counted in, and the bound needs their sums alone.
    const std::int64_t of_reserve = std::min(reserve_bytes_of(before), max_bytes);
    removed = reserve_lines(of_reserve) + lines(std::min(early_bytes_of(before), max_bytes - of_reserve));
    if (removed == 0) return;
  } while (!word.compare_exchange_weak(before, before - removed, std::memory_order_seq_cst));
  take_back(removed);
}

// The tree keeps its levels: each leaf is written before it is read again.
void Admission::start(MemoryBudget budget, std::int64_t serial_bytes) {
  budget_.store(budget, std::memory_order_relaxed);
  reset_serial_peak(serial_bytes);
  set_largest(serial_bytes);
}

std::int64_t Admission::budget_for(std::int64_t serial_peak) const {
  const MemoryBudget budget = budget_.load(std::memory_order_relaxed);
  if (budget.is_unbounded()) return unlimited;
  if (budget.is_automatic()) return serial_peak + std::max(serial_peak / 20, min_spare_bytes);
  return std::max(budget.bytes(), serial_peak);
}

std::int64_t Admission::largest_serial(std::uint64_t first, std::uint64_t last) const {
  const std::size_t begin = first & (slots_ - 1), end = last & (slots_ - 1);
  if (begin < end) return largest_leaf(begin, end);
  return std::max(largest_leaf(begin, slots_), largest_leaf(0, end));
}

std::int64_t Admission::largest_leaf(std::size_t begin, std::size_t end) const {
  std::int64_t largest = 0;
  // Goes bottom up, and takes a node where its sibling lies outside of the range.
  for (begin += slots_, end += slots_; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 == 1) largest = std::max(largest, tree_[begin++].load(std::memory_order_relaxed));
    if (end % 2 == 1) largest = std::max(largest, tree_[--end].load(std::memory_order_relaxed));
  }
  return largest;
}

}  // namespace asyncgrad::detail
