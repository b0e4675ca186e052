#include "asyncgrad/core/memory/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "asyncgrad/core/memory/timeline.h"
#include "asyncgrad/core/sync/raise_to.h"

namespace asyncgrad::detail {

void Allocator::raise_peak(std::int64_t live_bytes) {
  raise_to(peak_live_bytes_, live_bytes, std::memory_order_seq_cst);
}

// Several threads may come in another order than that of their changes: what is live now is told after each of them, so
// that the last one tells what stays.
void Allocator::tell_recorders(std::int64_t live_bytes) {
  const SpinLockGuard lock(lock_);
  const std::int64_t now_live = live_bytes_.load(std::memory_order_seq_cst);
  profile::live(this, live_bytes);
  if (now_live != live_bytes) profile::live(this, now_live);
  if (recorder_ == nullptr) return;
  recorder_->record(live_bytes);
  recorder_->record(now_live);
}

std::byte* Allocator::take_slowly(std::int64_t size_bytes) {
  const auto fault = fault_.load(std::memory_order_relaxed);
  if (fault != nullptr && fault(size_bytes)) throw std::bad_alloc();
  std::int64_t live_bytes = 0;
  std::byte* block = nullptr;
  if (is_tiny(size_bytes)) {
    block = take_tiny(size_bytes);
    live_bytes = add_live(size_bytes);
  } else {
    const SpinLockGuard lock(lock_);
    block = take_block(size_bytes);
    live_bytes = add_live(size_bytes);  // under the lock, as the next block's room depends on it
  }
  tell(live_bytes);
  return block;
}

void Allocator::give_back_slowly(std::byte* block, std::int64_t size_bytes) noexcept {
  const SpinLockGuard lock(lock_);
  give_back_block(block, size_bytes);
}

std::byte* Allocator::take_workspace(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  if (is_tiny(size_bytes)) return take_tiny(size_bytes);
  const SpinLockGuard lock(lock_);
  return take_block(size_bytes);
}

void Allocator::trim(std::int64_t most_cached_bytes) {
  const SpinLockGuard lock(lock_);
  trim_locked(most_cached_bytes);
}

void Allocator::set_limit(std::int64_t bytes) {
  const SpinLockGuard lock(lock_);
  limit_bytes_ = bytes > INT64_MAX / 2 ? bytes : bytes + std::max(bytes / 8, fewest_spare_bytes);
}

void Allocator::set_max_cached(std::int64_t bytes) {
  const SpinLockGuard lock(lock_);
  max_cached_bytes_ = bytes;
  trim_locked(bytes);
}

void Allocator::set_before_trim(std::function<void()> function) {
  const SpinLockGuard lock(lock_);
  before_trim_ = std::move(function);
}

void Allocator::set_fault(bool (*fails)(std::int64_t size_bytes)) { fault_.store(fails, std::memory_order_relaxed); }

bool Allocator::begin_to_record(LiveBytesTimeline::Recorder& recorder) {
  const SpinLockGuard lock(lock_);
  if (recorder_ != nullptr) return false;
  recorder_ = &recorder;
  is_recorded_.store(true, std::memory_order_seq_cst);
  recorder_->record(live_bytes_.load(std::memory_order_seq_cst));
  return true;
}

void Allocator::end_to_record() {
  const SpinLockGuard lock(lock_);
  is_recorded_.store(false, std::memory_order_seq_cst);
  recorder_ = nullptr;
}

std::vector<LiveBytesTimeline::Sample> Allocator::samples() {
  const SpinLockGuard lock(lock_);
  return recorder_ == nullptr ? std::vector<LiveBytesTimeline::Sample>() : recorder_->samples();
}

// Memory that is taken meanwhile either finds the new peak, or is live at the second look.
void Allocator::reset_peak() {
  peak_live_bytes_.store(live_bytes_.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
  raise_peak(live_bytes_.load(std::memory_order_seq_cst));
}

Allocator::Figures Allocator::figures() {
  const SpinLockGuard lock(lock_);
  const std::int64_t live_bytes = live_bytes_.load(std::memory_order_seq_cst);
  // Who has just taken memory may not have raised the peak yet.
  return {.live_bytes = live_bytes,
          .peak_live_bytes = std::max(live_bytes, peak_live_bytes_.load(std::memory_order_seq_cst)),
          .cached_bytes = cached_bytes(),
          .system_calls = system_calls_};
}

// Never null.
std::byte* Allocator::take_block(std::int64_t size_bytes) {
  std::byte* block = take_cached(size_bytes);
  if (block == nullptr) block = take_uncached(size_bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

std::byte* Allocator::take_cached(std::int64_t size_bytes) {
  return size_bytes >= large_bytes ? large_.take_kept(size_bytes) : small_.take(size_bytes);
}

void Allocator::give_back_block(std::byte* block, std::int64_t size_bytes) noexcept {
  if (size_bytes >= large_bytes) {
    large_.give_back(block, size_bytes);
  } else {
    small_.put(block, size_bytes);
  }
  if (cached_bytes() > max_cached_bytes_) trim_for_give_back(size_bytes);
}

std::byte* Allocator::take_uncached(std::int64_t size_bytes) {
  const std::int64_t live_bytes = live_bytes_.load(std::memory_order_relaxed) + size_bytes;
  trim_for_take(std::clamp<std::int64_t>(limit_bytes_ - live_bytes, 0, max_cached_bytes_));
  if (std::byte* const block = take_new(size_bytes)) return block;
  trim_for_take(0);
  return take_new(size_bytes);
}

// Null if there is no memory, for the block or for the host's records of it.
std::byte* Allocator::take_new(std::int64_t size_bytes) {
  ++system_calls_;
  try {
    return size_bytes >= large_bytes ? large_.take_clean(size_bytes) : take_new_small(size_bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::byte* Allocator::take_new_small(std::int64_t size_bytes) {
  if (!is_host_ && slab_bytes_ < size_bytes && !make_slab()) return nullptr;
  small_.add();
  if (is_host_) {
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(size_bytes)));
    if (block == nullptr) small_.remove();
    return block;
  }
  slab_bytes_ -= size_bytes;
  return std::exchange(slab_, slab_ + size_bytes);
}

bool Allocator::make_slab() {
  if (slab_bytes_ > 0) {
    // The rest of the old block becomes a block of the largest size that it holds.
    small_.add();
    give_back_block(slab_, std::exchange(slab_bytes_, 0));
  }
  slab_ = large_.take_kept(slab_size_bytes);
  if (slab_ == nullptr) slab_ = large_.take_clean(slab_size_bytes);
  if (slab_ == nullptr) return false;
  slab_bytes_ = slab_size_bytes;
  return true;
}

void Allocator::trim_for_take(std::int64_t most_cached_bytes) {
  if (cached_bytes() <= most_cached_bytes) return;
  if (!is_host_ && large_.kept_bytes() <= std::max<std::int64_t>(0, most_cached_bytes - small_.bytes())) return;
  if (before_trim_) before_trim_();
  trim_locked(most_cached_bytes);
}

// The block of `size_bytes` that came last is the one too many: it goes, unless large ones can go instead.
void Allocator::trim_for_give_back(std::int64_t size_bytes) noexcept {
  if (before_trim_) return;
  system_calls_ += large_.trim(std::max<std::int64_t>(0, max_cached_bytes_ - small_.bytes()));
  if (is_host_ && small_.bytes() > max_cached_bytes_) free_small(size_bytes);
}

void Allocator::trim_locked(std::int64_t most_cached_bytes) noexcept {
  system_calls_ += large_.trim(std::max<std::int64_t>(0, most_cached_bytes - small_.bytes()));
  if (!is_host_) return;
  std::int64_t size_bytes = small_.end_bytes() - 64;
  while (small_.bytes() > most_cached_bytes) {
    while (!small_.has(size_bytes)) size_bytes -= 64;
    free_small(size_bytes);
  }
}

void Allocator::free_small(std::int64_t size_bytes) noexcept {
  std::free(small_.take(size_bytes));
  small_.remove();
  ++system_calls_;
}

}  // namespace asyncgrad::detail
