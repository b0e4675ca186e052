#include "asyncgrad/core/memory/allocator.h"

namespace asyncgrad::detail {

std::byte* Allocator::take_slowly(std::int64_t size_bytes) {
  const auto fault = fault_.load(std::memory_order_relaxed);
  if (fault != nullptr && fault(size_bytes)) throw std::bad_alloc();
  std::int64_t live_bytes = 0;
  std::byte* block = nullptr;
  if (is_tiny(size_bytes)) {
    block = take_tiny(size_bytes);
    live_bytes = live_.add(size_bytes);
  } else {
    const SpinLockGuard lock(cache_.lock());
    block = cache_.take(size_bytes);
    live_bytes = live_.add(size_bytes);  // under the lock, as the next block's room depends on it
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
  const SpinLockGuard lock(cache_.lock());
  return cache_.take(size_bytes);
}

void Allocator::trim(std::int64_t max_cached_bytes) {
  const SpinLockGuard lock(cache_.lock());
  cache_.trim(max_cached_bytes);
}

void Allocator::set_limit(std::int64_t bytes) {
  const SpinLockGuard lock(cache_.lock());
  cache_.set_limit(bytes);
}

void Allocator::set_max_cached(std::int64_t bytes) {
  const SpinLockGuard lock(cache_.lock());
  cache_.set_max_cached(bytes);
}

void Allocator::set_before_trim(std::function<void()> function) {
  const SpinLockGuard lock(cache_.lock());
  cache_.set_before_trim(std::move(function));
}

Allocator::Figures Allocator::figures() {
  const SpinLockGuard lock(cache_.lock());
  const std::int64_t live_bytes = live_.now();
  return {.live_bytes = live_bytes,
          .peak_live_bytes = live_.peak(live_bytes),
          .cached_bytes = cache_.bytes(),
          .system_calls = cache_.system_calls()};
}

}  // namespace asyncgrad::detail
