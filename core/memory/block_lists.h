// Free blocks of memory, by size. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace asyncgrad::detail {

// Which of the free blocks of one size is given out.
enum class BlockOrder : std::uint8_t {
  last_first,    // the one that came last, which a processor's cache may still hold
  lowest_first,  // the one at the lowest address, so that a repeated step gets the same blocks again
};

// Free blocks whose sizes are whole cache lines, below `end_bytes`. The lists lie beside the blocks, which may be
// memory that the host cannot read. Putting a block back takes no memory: each block has an entry from add() to
// remove(), which stays spare while the block is given out. Not thread-safe.
class BlockLists {
 public:
  static constexpr std::int64_t line_bytes = 64;

  BlockLists(std::int64_t end_bytes, BlockOrder order)
      : order_(order), lists_(static_cast<std::size_t>(end_bytes / line_bytes)) {}
  BlockLists(const BlockLists&) = delete;
  BlockLists& operator=(const BlockLists&) = delete;
  ~BlockLists() {
    for (Entry* list : lists_) {
      while (list != nullptr) delete take_first(list);
    }
    while (spare_ != nullptr) delete pop(spare_);
  }

  // Makes an entry for a new block, which the caller has. Throws std::bad_alloc.
  void add() { push(spare_, new Entry{}); }
  // Removes the entry of a block that the caller had: it was freed, or could not be made.
  void remove() noexcept { delete pop(spare_); }

  bool has(std::int64_t size_bytes) const {
    return lists_[static_cast<std::size_t>(size_bytes / line_bytes)] != nullptr;
  }
  // Null if there is none of exactly this size.
  std::byte* take(std::int64_t size_bytes) noexcept {
    Entry*& list = list_of(size_bytes);
    if (list == nullptr) return nullptr;
    Entry* const entry = take_first(list);
    push(spare_, entry);
    bytes_ -= size_bytes;
    return entry->block;
  }
  void put(std::byte* block, std::int64_t size_bytes) noexcept {
    Entry* const entry = pop(spare_);
    entry->next = nullptr;
    entry->block = block;
    Entry*& list = list_of(size_bytes);
    if (order_ == BlockOrder::last_first) {
      push(list, entry);
    } else {
      list = list == nullptr ? entry : melded(list, entry);
    }
    bytes_ += size_bytes;
  }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t end_bytes() const { return static_cast<std::int64_t>(lists_.size()) * line_bytes; }

 private:
  // A list by addresses is a pairing heap: its entry with the lowest block has no next one, and every entry is lower
  // than its children.
  struct Entry {
    Entry* next = nullptr;
    Entry* children = nullptr;
    std::byte* block = nullptr;
  };

  Entry*& list_of(std::int64_t size_bytes) { return lists_[static_cast<std::size_t>(size_bytes / line_bytes)]; }
  static void push(Entry*& list, Entry* entry) noexcept {
    entry->next = list;
    list = entry;
  }
  static Entry* pop(Entry*& list) noexcept {
    Entry* const entry = list;
    list = entry->next;
    return entry;
  }
  Entry* take_first(Entry*& list) const noexcept {
    if (order_ == BlockOrder::last_first) return pop(list);
    Entry* const first = list;
    list = all_melded(std::exchange(first->children, nullptr));
    return first;
  }
  static Entry* melded(Entry* x, Entry* y) noexcept {
    if (y->block < x->block) std::swap(x, y);
    push(x->children, y);
    return x;
  }
  // Pairs first, then the pairs: so taking costs the logarithm of the number of blocks on average.
  static Entry* all_melded(Entry* entries) noexcept {
    Entry* pairs = nullptr;
    while (entries != nullptr) {
      Entry* pair = pop(entries);
      if (entries != nullptr) pair = melded(pair, pop(entries));
      push(pairs, pair);
    }
    Entry* all = nullptr;
    while (pairs != nullptr) {
      Entry* const pair = pop(pairs);
      all = all == nullptr ? pair : melded(all, pair);
    }
    if (all != nullptr) all->next = nullptr;
    return all;
  }

  const BlockOrder order_;
  std::vector<Entry*> lists_;  // by lines
  Entry* spare_ = nullptr;     // as many as blocks are given out
  std::int64_t bytes_ = 0;
};

}  // namespace asyncgrad::detail
