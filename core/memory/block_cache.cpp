#include "asyncgrad/core/memory/block_cache.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace asyncgrad::detail {

std::byte* BlockCache::take(std::int64_t size_bytes) {
  std::byte* block = take_cached(size_bytes);
  if (block == nullptr) block = take_uncached(size_bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void BlockCache::give_back(std::byte* block, std::int64_t size_bytes) noexcept {
  if (size_bytes >= large_bytes) {
    large_.give_back(block, size_bytes);
  } else {
    small_.put(block, size_bytes);
  }
  if (bytes() > limits_.cached_bytes) trim_for_give_back(size_bytes);
}

void BlockCache::trim(std::int64_t max_bytes) noexcept {
  system_calls_ += large_.trim(std::max<std::int64_t>(0, max_bytes - small_.bytes()));
  if (!is_host_) return;
  std::int64_t size_bytes = small_.end_bytes() - 64;
  while (small_.bytes() > max_bytes) {
    while (!small_.has(size_bytes)) size_bytes -= 64;
    free_small(size_bytes);
  }
}

void BlockCache::set_limit(std::int64_t bytes) {
  limits_.with_live_bytes = bytes > INT64_MAX / 2 ? bytes : bytes + bytes / 8 + spare_bytes;
}

void BlockCache::set_max_cached(std::int64_t bytes) {
  limits_.cached_bytes = bytes;
  trim(bytes);
}

void BlockCache::set_before_trim(std::function<void()> function) { before_trim_ = std::move(function); }

// --- Taking. ---

std::byte* BlockCache::take_cached(std::int64_t size_bytes) {
  return size_bytes >= large_bytes ? large_.take_kept(size_bytes) : small_.take(size_bytes);
}

// Nothing, too, if there is no memory for the host's records of it.
std::optional<PageRanges::Extension> BlockCache::claim_extension(std::int64_t size_bytes) {
  if (size_bytes < large_bytes) return std::nullopt;
  try {
    return large_.claim_extension(size_bytes);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

// Null if the system has no memory left.
std::byte* BlockCache::take_uncached(std::int64_t size_bytes) {
  // Relaxed: what was added for other blocks of the cache was added under the lock. If a subtraction is seen late, less
  // stays in the cache. A tiny block that is added meanwhile may come after any load.
  const std::int64_t live_bytes = live_.approximate() + size_bytes;
  // Claimed before the trim, which may begin with the range that is extended, and completed after it: until then what is
  // missing would pass the limit.
  const std::optional<PageRanges::Extension> extension = claim_extension(size_bytes);
  try {
    trim_for_take(std::clamp<std::int64_t>(limits_.with_live_bytes - live_bytes, 0, limits_.cached_bytes));
  } catch (...) {  // of before_trim_
    if (extension) large_.give_up(*extension);
    throw;
  }
  if (std::byte* const block = extension ? complete(*extension) : take_new(size_bytes)) return block;
  trim_for_take(0);
  return take_new(size_bytes);
}

// Null if the system has no memory left.
std::byte* BlockCache::complete(const PageRanges::Extension& extension) {
  ++system_calls_;
  try {
    return large_.complete(extension);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Null if there is no memory, for the block or for the host's records of it.
std::byte* BlockCache::take_new(std::int64_t size_bytes) {
  ++system_calls_;
  try {
    return size_bytes >= large_bytes ? large_.take_clean(size_bytes) : take_new_small(size_bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::byte* BlockCache::take_new_small(std::int64_t size_bytes) {
  const bool is_cut = !is_host_ && !ends_values_at_pages_;
  if (is_cut && slab_.left_bytes() < size_bytes && !make_slab()) return nullptr;
  auto* const block = is_cut     ? slab_.cut(size_bytes)
                      : is_host_ ? static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(size_bytes)))
                                 : large_.take_at_page_end(size_bytes);
  if (block != nullptr) small_.add();
  return block;
}

// The rest of the old slab becomes a block of the largest size that it holds.
bool BlockCache::make_slab() {
  if (const std::int64_t rest_bytes = slab_.left_bytes(); rest_bytes > 0) {
    small_.add();
    give_back(slab_.cut(rest_bytes), rest_bytes);
  }
  std::byte* block = large_.take_kept(Slab::size_bytes);
  if (block == nullptr) block = large_.take_clean(Slab::size_bytes);
  if (block == nullptr) return false;
  slab_.start(block);
  return true;
}

// --- Giving back to the system. ---

void BlockCache::trim_for_take(std::int64_t max_bytes) {
  if (bytes() <= max_bytes) return;
  if (!is_host_ && large_.kept_bytes() <= std::max<std::int64_t>(0, max_bytes - small_.bytes())) return;
  if (before_trim_) before_trim_();
  trim(max_bytes);
}

// The block of `size_bytes` that was given back last exceeds the limit. It is freed, unless large blocks can be freed
// instead.
void BlockCache::trim_for_give_back(std::int64_t size_bytes) noexcept {
  if (before_trim_) return;
  system_calls_ += large_.trim(std::max<std::int64_t>(0, limits_.cached_bytes - small_.bytes()));
  if (is_host_ && small_.bytes() > limits_.cached_bytes) free_small(size_bytes);
}

void BlockCache::free_small(std::int64_t size_bytes) noexcept {
  std::free(small_.take(size_bytes));
  small_.remove();
  ++system_calls_;
}

}  // namespace asyncgrad::detail
