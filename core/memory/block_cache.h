// Keeps the blocks of memory that were given back, for the next requests. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "asyncgrad/core/memory/block_lists.h"
#include "asyncgrad/core/memory/live_bytes.h"
#include "asyncgrad/core/memory/page_ranges.h"
#include "asyncgrad/core/memory/slab.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// Blocks come from the cache, or else from the system. A returned block is kept for a request of the same size, which
// is what a training loop makes; blocks of at least `large_bytes` are ranges of pages, which serve other sizes, too.
// When live and cached memory together would pass the limit, cached blocks go back to the system, ranges of pages
// first, the smallest first.
//
// Thread safety: any thread may call any function under lock().
class BlockCache {
 public:
  // `live`: the live bytes of the same device, which count against the limit.
  BlockCache(MemorySource& source, const LiveBytes& live)
      : is_host_(&source == &host_memory()),
        ends_values_at_pages_(source.ends_values_at_pages()),
        live_(live),
        small_(large_bytes, is_host_ ? BlockOrder::last_first : BlockOrder::lowest_first),
        large_(source) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  SpinLock& lock() ASYNCGRAD_RETURN_CAPABILITY(lock_) { return lock_; }

  // A block of `size_bytes`, a multiple of 64 and not 0. Never null. Throws std::bad_alloc if the system has no memory
  // even after it got the cache back.
  std::byte* take(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  void give_back(std::byte* block, std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);
  // Gives cached memory back to the system until at most `max_bytes` are cached. Small blocks stay unless they are the
  // host's own: others are cut from slabs.
  void trim(std::int64_t max_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);

  // Sets the limit that Allocator describes.
  void set_limit(std::int64_t bytes) ASYNCGRAD_REQUIRES(lock_);
  void set_max_cached(std::int64_t bytes) ASYNCGRAD_REQUIRES(lock_);
  // What these have set, for another cache.
  struct Limits {
    std::int64_t with_live_bytes = INT64_MAX, cached_bytes = INT64_MAX;
    friend bool operator==(const Limits&, const Limits&) = default;
  };
  Limits limits() const ASYNCGRAD_REQUIRES(lock_) { return limits_; }
  void set_limits(const Limits& limits) ASYNCGRAD_REQUIRES(lock_) { limits_ = limits; }
  void set_before_trim(std::function<void()> function) ASYNCGRAD_REQUIRES(lock_);

  std::int64_t bytes() const ASYNCGRAD_REQUIRES(lock_) { return small_.bytes() + large_.kept_bytes(); }
  // How often memory was taken from the system or given back to it.
  std::int64_t system_calls() const ASYNCGRAD_REQUIRES(lock_) { return system_calls_; }

 private:
  // Blocks of at least this size are ranges of pages. Smaller blocks come from the system's own allocator or from a
  // slab.
  static constexpr std::int64_t large_bytes = std::int64_t{1} << 20;
  static constexpr std::int64_t spare_bytes = std::int64_t{4} << 20;

  std::byte* take_cached(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::optional<PageRanges::Extension> claim_extension(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* complete(const PageRanges::Extension& extension) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_uncached(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_new(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_new_small(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  bool make_slab() ASYNCGRAD_REQUIRES(lock_);
  void trim_for_take(std::int64_t max_bytes) ASYNCGRAD_REQUIRES(lock_);
  void trim_for_give_back(std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);
  void free_small(std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);

  const bool is_host_, ends_values_at_pages_;
  const LiveBytes& live_;

  SpinLock lock_;
  Limits limits_ ASYNCGRAD_GUARDED_BY(lock_);
  std::int64_t system_calls_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  BlockLists small_ ASYNCGRAD_GUARDED_BY(lock_);
  PageRanges large_ ASYNCGRAD_GUARDED_BY(lock_);
  Slab slab_ ASYNCGRAD_GUARDED_BY(lock_);  // of a device with memory of its own
  std::function<void()> before_trim_ ASYNCGRAD_GUARDED_BY(lock_);
};

}  // namespace asyncgrad::detail
