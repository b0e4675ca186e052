// Large blocks of memory, cut from a few mapped regions. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "asyncgrad/core/memory/memory_source.h"

namespace asyncgrad::detail {

// Gives out ranges of whole pages. A returned range joins its neighbours, so that blocks of one size serve requests of
// another: a training loop's sizes fit into the memory of its peak, which a list a size would not manage.
//
// A free range is either kept (the system's memory is still behind it) or clean (it is not). Not thread-safe.
class PageRanges {
 public:
  explicit PageRanges(MemorySource& source) : source_(source), page_bytes_(source.page_bytes()) {}

  // The best fit among the kept ranges; null if there is none.
  std::byte* take_kept(std::int64_t size_bytes);
  // A range whose memory is new; null if there is none left.
  std::byte* take_clean(std::int64_t size_bytes);
  void give_back(std::byte* block, std::int64_t size_bytes);
  // Gives memory back to the system until at most `most_bytes` are kept. How many calls of the system it took.
  int trim(std::int64_t most_bytes);

  std::int64_t kept_bytes() const { return kept_bytes_; }

 private:
  static constexpr std::int64_t region_bytes = std::int64_t{64} << 20;

  struct Range {
    std::int64_t size_bytes;
    bool kept;
  };
  using BySize = std::set<std::pair<std::int64_t, std::byte*>>;  // best fit first, then lowest address

  std::int64_t whole_pages(std::int64_t bytes) const { return (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_; }
  std::byte* take_from(BySize& ranges, std::int64_t size_bytes);
  void insert(std::byte* begin, Range range);  // joins neighbours of its kind
  void erase(std::map<std::byte*, Range>::iterator range);
  BySize& of_kind(bool kept) { return kept ? kept_ : clean_; }

  MemorySource& source_;
  std::int64_t page_bytes_;
  std::map<std::byte*, Range> free_;  // by address; each is also in one of:
  BySize kept_, clean_;
  std::set<std::byte*> regions_;  // where they begin: ranges do not join across
  std::int64_t kept_bytes_ = 0;
};

}  // namespace asyncgrad::detail
