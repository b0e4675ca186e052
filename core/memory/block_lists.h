// Free blocks of memory, by size. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asyncgrad::detail {

// Free blocks whose sizes are whole cache lines, below `end_bytes`. The lists lie beside the blocks, which may be
// memory that the host cannot read. Putting a block back takes no memory: each block has an entry from add() to
// remove(), which stays spare while the block is given out. Not thread-safe.
class BlockLists {
 public:
  static constexpr std::int64_t line_bytes = 64;

  explicit BlockLists(std::int64_t end_bytes) : lists_(static_cast<std::size_t>(end_bytes / line_bytes)) {}
  BlockLists(const BlockLists&) = delete;
  BlockLists& operator=(const BlockLists&) = delete;
  ~BlockLists() {
    for (Entry* list : lists_) free_all(list);
    free_all(spare_);
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
    Entry* const entry = pop(list);
    push(spare_, entry);
    bytes_ -= size_bytes;
    return entry->block;
  }
  void put(std::byte* block, std::int64_t size_bytes) noexcept {
    Entry* const entry = pop(spare_);
    entry->block = block;
    push(list_of(size_bytes), entry);
    bytes_ += size_bytes;
  }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t end_bytes() const { return static_cast<std::int64_t>(lists_.size()) * line_bytes; }

 private:
  struct Entry {
    Entry* next = nullptr;
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
  static void free_all(Entry* list) noexcept {
    while (list != nullptr) delete pop(list);
  }

  std::vector<Entry*> lists_;  // by lines
  Entry* spare_ = nullptr;     // as many as blocks are given out
  std::int64_t bytes_ = 0;
};

}  // namespace asyncgrad::detail
