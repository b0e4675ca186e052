#include "asyncgrad/core/memory/allocator.h"

#include <memory>

namespace asyncgrad::detail {

void Allocator::check_fault(std::int64_t size_bytes) const {
  const auto fault = fault_.load(std::memory_order_relaxed);
  if (fault != nullptr && fault(size_bytes)) throw std::bad_alloc();
}

std::byte* Allocator::take_once(BlockCache& cache, std::int64_t size_bytes, std::int64_t* live_bytes) {
  const SpinLockGuard lock(cache.lock());
  std::byte* const block = cache.take(size_bytes);
  if (live_bytes != nullptr) *live_bytes = live_.add(size_bytes);  // under the lock, for the next block
  return block;
}

std::byte* Allocator::take_from(BlockCache& cache, std::int64_t size_bytes, std::int64_t* live_bytes) {
  try {
    return take_once(cache, size_bytes, live_bytes);
  } catch (const std::bad_alloc&) {
    if (!has_pinned()) throw;
  }
  trim();  // the other cache may have what is lacking
  return take_once(cache, size_bytes, live_bytes);
}

std::byte* Allocator::take_slowly(std::int64_t size_bytes) {
  check_fault(size_bytes);
  std::int64_t live_bytes = 0;
  std::byte* block = nullptr;
  if (is_tiny(size_bytes)) {
    block = take_tiny(size_bytes);
    live_bytes = live_.add(size_bytes);
  } else {
    block = take_from(cache_, size_bytes, &live_bytes);
  }
  recording_.report(live_bytes);
  return block;
}

void Allocator::give_back_slowly(std::byte* block, std::int64_t size_bytes) noexcept {
  const SpinLockGuard lock(cache_.lock());
  cache_.give_back(block, size_bytes);
}

std::byte* Allocator::take_workspace(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  if (is_tiny(size_bytes)) return take_tiny(size_bytes);
  return take_from(cache_, size_bytes, nullptr);
}

void Allocator::use_pinned(MemorySource& source) {
  if (has_pinned()) return;
  auto made = std::make_unique<BlockCache>(source, live_);
  BlockCache& cache = *made;
  BlockCache* none = nullptr;
  if (!pinned_.compare_exchange_strong(none, &cache, std::memory_order_acq_rel)) return;  // another thread came first
  ForkLocks::add(cache.lock(), ForkLocks::Kind::outer);
  static_cast<void>(made.release());
  // Limits that are set from here on reach this cache, too, but perhaps before these are copied.
  const auto current_limits = [this] {
    const SpinLockGuard lock(cache_.lock());
    return cache_.limits();
  };
  BlockCache::Limits copied;
  for (BlockCache::Limits limits = current_limits(); copied != limits; limits = current_limits()) {
    const SpinLockGuard lock(cache.lock());
    cache.set_limits(limits);
    copied = limits;
  }
}

std::byte* Allocator::take_pinned(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  check_fault(size_bytes);
  std::int64_t live_bytes = 0;
  std::byte* const block = take_from(*pinned_.load(std::memory_order_acquire), size_bytes, &live_bytes);
  pinned_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  recording_.report(live_bytes);
  return block;
}

void Allocator::give_back_pinned(std::byte* block, std::int64_t size_bytes) noexcept {
  if (block == nullptr) return;
  pinned_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
  recording_.report(live_.subtract(size_bytes));
  BlockCache& cache = *pinned_.load(std::memory_order_acquire);
  const SpinLockGuard lock(cache.lock());
  cache.give_back(block, size_bytes);
}

// function(cache), under its lock, for each of the caches that there are. The second is looked for when the first is
// done, see use_pinned().
template <class Function>
void Allocator::each_cache(Function function) {
  const auto call = [&](BlockCache& cache) {
    const SpinLockGuard lock(cache.lock());
    function(cache);
  };
  call(cache_);
  if (BlockCache* const pinned = pinned_.load(std::memory_order_acquire)) call(*pinned);
}

void Allocator::trim(std::int64_t max_cached_bytes) {
  each_cache([=](BlockCache& cache) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS { cache.trim(max_cached_bytes); });
}

void Allocator::set_limit(std::int64_t bytes) {
  each_cache([=](BlockCache& cache) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS { cache.set_limit(bytes); });
}

void Allocator::set_max_cached(std::int64_t bytes) {
  each_cache([=](BlockCache& cache) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS { cache.set_max_cached(bytes); });
}

void Allocator::set_before_trim(std::function<void()> function) {
  const SpinLockGuard lock(cache_.lock());
  cache_.set_before_trim(std::move(function));
}

Allocator::Figures Allocator::figures() {
  Figures figures;
  each_cache([&](BlockCache& cache) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS {
    figures.live_bytes = live_.now();
    figures.cached_bytes += cache.bytes();
    figures.system_calls += cache.system_calls();
  });
  figures.peak_live_bytes = live_.peak(figures.live_bytes);
  return figures;
}

}  // namespace asyncgrad::detail
