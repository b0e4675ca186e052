#include "asyncgrad/core/engine/schedule/ready_set.h"

#include <bit>

#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

namespace {

constexpr std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << (place % 64); }

// The bits of a word at places `from` and up.
constexpr std::uint64_t from_place(std::uint64_t word, std::size_t from) {
  return word & (~std::uint64_t{0} << (from % 64));
}

}  // namespace

ReadySet::ReadySet(std::size_t slots) : slots_(slots), words_(slots / 64), summary_(divided_up(slots / 64, 64)) {}

void ReadySet::insert_all(std::size_t first, std::uint64_t slots) {
  const std::size_t word = first / 64, place = first % 64;
  const std::uint64_t here = slots << place, beyond = place == 0 ? 0 : slots >> (64 - place);
  if (here != 0) insert_in_word(word, here);
  if (beyond != 0) insert_in_word((word + 1) % words_.size(), beyond);
}

void ReadySet::insert_in_word(std::size_t word, std::uint64_t bits) {
  const bool was_empty = words_[word].bits.fetch_or(bits, std::memory_order_seq_cst) == 0;
  // The thread that filled the empty word may not have come to the summary yet.
  if (!was_empty && (summary_[word / 64].load(std::memory_order_seq_cst) & bit(word)) != 0) return;
  summary_[word / 64].fetch_or(bit(word), std::memory_order_seq_cst);
}

void ReadySet::erase(std::size_t slot) {
  const std::size_t word = slot / 64;
  const std::uint64_t before = words_[word].bits.fetch_and(~bit(slot), std::memory_order_seq_cst);
  if ((before & ~bit(slot)) == 0) clear_summary(word);
}

void ReadySet::clear_summary(std::size_t word) {
  clearings_begun_.fetch_add(1, std::memory_order_seq_cst);
  summary_[word / 64].fetch_and(~bit(word), std::memory_order_seq_cst);
  // An insertion in between may have found the summary's bit still set, or another one in the word.
  if (words_[word].bits.load(std::memory_order_seq_cst) != 0)
    summary_[word / 64].fetch_or(bit(word), std::memory_order_seq_cst);
  clearings_ended_.fetch_add(1, std::memory_order_seq_cst);
}

std::int64_t ReadySet::nearest(std::size_t first, std::size_t skip, const Awaited* among) const {
  if (skip >= slots_) return -1;
  const std::uint64_t ended = clearings_ended_.load(std::memory_order_seq_cst);
  const std::size_t begin = (first + skip) & (slots_ - 1);
  // The ring from `begin` up to `first`: in one piece, or over its end.
  const std::size_t end = begin >= first ? slots_ : first, rest = begin >= first ? first : 0;
  std::int64_t found = first_member(begin, end, among);
  if (found < 0) found = first_member(0, rest, among);
  if (found < 0 && among == nullptr && clearings_begun_.load(std::memory_order_seq_cst) != ended) {
    found = first_member_by_words(begin, end);
    if (found < 0) found = first_member_by_words(0, rest);
  }
  return found < 0 ? -1 : static_cast<std::int64_t>((static_cast<std::size_t>(found) - first) & (slots_ - 1));
}

std::int64_t ReadySet::first_member(std::size_t begin, std::size_t end, const Awaited* among) const {
  if (begin >= end) return -1;
  std::size_t word = begin / 64;
  std::uint64_t members = from_place(members_in(word, among), begin);
  while (members == 0) {
    ++word;
    if (word * 64 >= end) return -1;
    // The next word that the summary says may have members.
    const std::uint64_t candidates = from_place(summary_[word / 64].load(std::memory_order_seq_cst), word);
    if (candidates == 0) {
      word = (word / 64 + 1) * 64 - 1;
      continue;
    }
    word = word / 64 * 64 + static_cast<std::size_t>(std::countr_zero(candidates));
    if (word * 64 >= end) return -1;
    members = members_in(word, among);
  }
  const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(members));
  return slot < end ? static_cast<std::int64_t>(slot) : -1;
}

std::int64_t ReadySet::first_member_by_words(std::size_t begin, std::size_t end) const {
  for (std::size_t slot = begin; slot < end; slot = (slot / 64 + 1) * 64) {
    const std::uint64_t members = from_place(members_in(slot / 64, nullptr), slot);
    if (members == 0) continue;
    const std::size_t member = slot / 64 * 64 + static_cast<std::size_t>(std::countr_zero(members));
    return member < end ? static_cast<std::int64_t>(member) : -1;
  }
  return -1;
}

}  // namespace asyncgrad::detail
