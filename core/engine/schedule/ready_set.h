// A set of slots that is read in the order of a ring. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/ring/awaited.h"

namespace asyncgrad::detail {

// A set of slots of the ring of operations, read in program order. It has a bit for each slot, and a summary bit for
// each word of those.
//
// Thread safety: any thread may insert, erase and search at once.
// Invariants:
// 1. If some slot is a member during the whole of a search, the search finds a member, though perhaps another one.
//    `insert` sets the slot's bit first, then the summary's unless it is set. `erase` clears the summary's bit
//    after it has emptied the word, and then looks at the word once more: in between, the summary may lack what was
//    just inserted. These steps are counted where they begin and where they end; a search that finds nothing, and that
//    overlaps with any of them, goes through the words themselves.
// 2. A summary bit may be set over an empty word; the search then just moves on.
// All of it is sequentially consistent: a thread that goes to sleep after an empty search, and one that inserts before
// it looks for sleepers, must agree on an order.
class ReadySet {
 public:
  explicit ReadySet(std::size_t slots);  // a power of two, at least 64

  void insert(std::size_t slot) { insert_in_word(slot / 64, std::uint64_t{1} << (slot % 64)); }
  // Inserts the slots that lie i behind `first`, in ring order, for each bit i that is set.
  void insert_all(std::size_t first, std::uint64_t slots);
  void erase(std::size_t slot);
  // How far behind `first`, in ring order, the nearest member lies that is at least `skip` slots behind it; -1 if there
  // is none. With `among` it looks at the slots that are marked there alone, and may miss one of them.
  std::int64_t nearest(std::size_t first, std::size_t skip, const Awaited* among = nullptr) const;
  // Prefetches for a thread that will search from `slot` on and erase what it finds.
  void prefetch(std::size_t slot) const {
    __builtin_prefetch(&words_[slot / 64], 1);
    __builtin_prefetch(&summary_[slot / 64 / 64], 1);
  }

 private:
  void clear_summary(std::size_t word);
  void insert_in_word(std::size_t word, std::uint64_t bits);
  std::uint64_t members_in(std::size_t word, const Awaited* among) const {
    const std::uint64_t members = words_[word].bits.load(std::memory_order_seq_cst);
    return among == nullptr ? members : members & among->word(word);
  }
  std::int64_t first_member(std::size_t begin, std::size_t end, const Awaited* among) const;
  std::int64_t first_member_by_words(std::size_t begin, std::size_t end) const;

  std::size_t slots_;
  // Each word has a cache line of its own, because one thread mostly inserts some way from where another one erases.
  struct alignas(64) Word {
    std::atomic<std::uint64_t> bits{0};
  };
  std::vector<Word> words_;
  std::vector<std::atomic<std::uint64_t>> summary_;
  alignas(128) std::atomic<std::uint64_t> clearings_begun_{0};
  std::atomic<std::uint64_t> clearings_ended_{0};
};

}  // namespace asyncgrad::detail
