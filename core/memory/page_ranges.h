// Large blocks of memory, cut from a few mapped regions. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/memory/memory_source.h"
#include "asyncgrad/core/memory/node_pool.h"

namespace asyncgrad::detail {

// Gives out ranges of whole pages. A returned range joins its neighbours, so that blocks of one size serve requests of
// another: the sizes of a training loop fit into the memory of its peak, which one list for each size would not
// achieve.
//
// A free range is either kept (memory of the system still backs it) or clean (no memory backs it). The nodes that a
// block needs to become a range again are reserved when it is taken, so that giving it back neither allocates nor
// fails. Not thread-safe.
class PageRanges {
 public:
  explicit PageRanges(MemorySource& source) : source_(source), page_bytes_(source.page_bytes()) {}

  // All throw std::bad_alloc, with nothing changed, if the host has no memory for their own nodes, and what the source
  // throws, with nothing taken.
  //
  // Takes the best fit among the kept ranges; null if there is none.
  std::byte* take_kept(std::int64_t size_bytes);
  // A kept range and one without memory next to it, which make a block together.
  struct Extension {
    std::byte *kept, *added;
    std::int64_t kept_bytes, added_bytes;
  };
  // Claims a kept range of at least a quarter of that size, and as much next to it as is missing; nothing if there is
  // none. complete() or give_up() ends the claim.
  std::optional<Extension> claim_extension(std::int64_t size_bytes);
  // Takes new memory for what is missing, and returns the block; gives up, and returns null, if the system has none left.
  std::byte* complete(const Extension& extension);
  void give_up(const Extension& extension) noexcept;
  // Takes a range with new memory; null if the system has none left.
  std::byte* take_clean(std::int64_t size_bytes);
  // Takes new memory for a block of any size that ends where a page ends, in front of one without memory. It is not to be
  // given back. Null if the system has none left.
  std::byte* take_at_page_end(std::int64_t size_bytes);
  void give_back(std::byte* block, std::int64_t size_bytes) noexcept;
  // Gives memory back to the system until at most `max_bytes` are kept, or the system takes no more. Returns the
  // number of calls of the system.
  int trim(std::int64_t max_bytes) noexcept;

  std::int64_t kept_bytes() const { return kept_bytes_; }

 private:
  static constexpr std::int64_t region_bytes = std::int64_t{64} << 20;

  struct Range {
    std::int64_t size_bytes;
    bool kept;
  };
  // A range has a node by address and one by size.
  static constexpr std::size_t nodes_of_region = 1, nodes_of_range = 2;
  template <class Key>
  using Set = std::set<Key, std::less<Key>, NodePool::Allocator<Key>>;
  using BySize = Set<std::pair<std::int64_t, std::byte*>>;  // best fit first, then lowest address
  using ByAddress = std::map<std::byte*, Range, std::less<>, NodePool::Allocator<std::pair<std::byte* const, Range>>>;

  std::int64_t whole_pages(std::int64_t bytes) const { return rounded_up(bytes, page_bytes_); }
  void reserve_nodes(std::size_t ranges = 1);
  std::byte* take_from(BySize& ranges, std::int64_t size_bytes);
  // The free range that begins there, or ends there, and is of the region on the other side, too; end() if there is none.
  ByAddress::iterator range_from(std::byte* begin);
  ByAddress::iterator range_until(std::byte* end);
  void insert(std::byte* begin, Range range);  // joins neighbours of its kind
  void erase(ByAddress::iterator range);
  BySize& of_kind(bool kept) { return kept ? kept_ : clean_; }

  MemorySource& source_;
  std::int64_t page_bytes_;
  std::size_t blocks_ = 0;                             // given out, and two for each claim
  NodePool nodes_;                                     // as many are spare as the return of all blocks may need
  ByAddress free_{ByAddress::allocator_type(nodes_)};  // each is also in one of:
  BySize kept_{BySize::allocator_type(nodes_)}, clean_{BySize::allocator_type(nodes_)};
  Set<std::byte*> regions_{Set<std::byte*>::allocator_type(nodes_)};  // where they begin: ranges do not join across
  std::int64_t kept_bytes_ = 0;
};

}  // namespace asyncgrad::detail
