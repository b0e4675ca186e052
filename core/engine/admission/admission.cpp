#include "asyncgrad/core/engine/admission/admission.h"

#include <algorithm>
#include <bit>

namespace asyncgrad::detail {

namespace {

constexpr std::uint64_t line_mask = (std::uint64_t{1} << Admission::line_bits) - 1;
constexpr std::int64_t max_early_bytes = static_cast<std::int64_t>(line_mask) * 64;

constexpr std::uint64_t lines(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) / 64; }
constexpr std::int64_t word_bytes(std::uint64_t word) { return static_cast<std::int64_t>(word & line_mask) * 64; }

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
  return largest_serial(number, number + 1) + early_bytes_.load(std::memory_order_acquire) + held <= limit();
}

bool Admission::admit_early(std::uint64_t number, std::uint64_t first, std::int64_t bytes,
                            const std::atomic<std::uint64_t>& oldest, std::int64_t held) {
  const std::int64_t limit = limit_.load(std::memory_order_relaxed), serial = largest_serial(first, number);
  // The compare-and-exchange makes check and commitment one step. Acquire, and release where E falls: the memory that
  // made room was counted as returned before.
  std::int64_t early = early_bytes_.load(std::memory_order_relaxed);
  do {
    if (serial + early + bytes + held > limit || early + bytes > max_early_bytes) return false;
  } while (
      !early_bytes_.compare_exchange_weak(early, early + bytes, std::memory_order_acquire, std::memory_order_relaxed));

  std::atomic<std::uint64_t>& word = early_word_[number & (slots_ - 1)];
  std::uint64_t before = word.load(std::memory_order_seq_cst);
  std::uint64_t after = 0;
  do {
    // f may have arrived already. Then all of the memory is part of the serial level, and the word may belong to the
    // slot's next owner. If f arrives after this look, the exchange fails.
    if (oldest.load(std::memory_order_seq_cst) >= number) {
      early_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      return true;
    }
    const bool same_owner = before >> line_bits == generation(number);
    after = (same_owner ? before : generation(number) << line_bits) + lines(bytes);
  } while (!word.compare_exchange_weak(before, after, std::memory_order_seq_cst));  // invariant 3
  if (before >> line_bits != generation(number)) early_bytes_.fetch_sub(word_bytes(before), std::memory_order_relaxed);

  if (oldest.load(std::memory_order_seq_cst) >= number) arrive(number);
  return true;
}

void Admission::take_out(std::uint64_t number, std::int64_t max_bytes) {
  std::atomic<std::uint64_t>& word = early_word_[number & (slots_ - 1)];
  std::uint64_t before = word.load(std::memory_order_seq_cst);
  std::int64_t removed = 0;
  do {
    if (before >> line_bits != generation(number)) return;
    removed = std::min(word_bytes(before), max_bytes);
    if (removed == 0) return;
  } while (!word.compare_exchange_weak(before, before - lines(removed), std::memory_order_seq_cst));
  early_bytes_.fetch_sub(removed, std::memory_order_release);
}

void Admission::set_budget(MemoryBudget budget) {
  budget_ = budget;
  limit_.store(budget_for(largest_serial_), std::memory_order_relaxed);
}

std::int64_t Admission::budget_for(std::int64_t serial_peak) const {
  if (budget_.is_unbounded()) return unlimited;
  if (budget_.is_automatic()) return serial_peak + std::max(serial_peak / 20, min_spare_bytes);
  return std::max(budget_.bytes(), serial_peak);
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
