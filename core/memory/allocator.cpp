#include "asyncgrad/core/memory/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "asyncgrad/core/memory/timeline.h"

namespace asyncgrad::detail {

// On the way of every operation.
inline std::byte* Allocator::take_cached(std::int64_t size_bytes) {
  if (size_bytes >= large_bytes) return large_.take_kept(size_bytes);
  std::vector<std::byte*>& blocks = small_[static_cast<std::size_t>(size_bytes / 64)];
  if (blocks.empty()) return nullptr;
  std::byte* block = blocks.back();
  blocks.pop_back();
  small_cached_bytes_ -= size_bytes;
  return block;
}

std::byte* Allocator::take_tiny(std::int64_t size_bytes) {
  try {
    return new_tiny(size_bytes);
  } catch (const std::bad_alloc&) {
    trim_locked(0);
    return new_tiny(size_bytes);
  }
}

// Null, or std::bad_alloc, if there is no memory left.
inline std::byte* Allocator::take_block(std::int64_t size_bytes) {
  if (is_tiny(size_bytes)) return take_tiny(size_bytes);
  std::byte* const block = take_cached(size_bytes);
  return block != nullptr ? block : take_uncached(size_bytes);
}

inline void Allocator::give_back_block(std::byte* block, std::int64_t size_bytes) {
  if (is_tiny(size_bytes)) return SmallObjects::give_back(block, static_cast<std::size_t>(size_bytes));
  if (size_bytes >= large_bytes) {
    large_.give_back(block, size_bytes);
  } else {
    small_[static_cast<std::size_t>(size_bytes / 64)].push_back(block);
    small_cached_bytes_ += size_bytes;
  }
  if (cached_bytes() > max_cached_bytes_) trim_for_give_back(size_bytes);
}

inline void Allocator::set_live(std::int64_t bytes) {
  figures_.live_bytes = bytes;
  figures_.peak_live_bytes = std::max(figures_.peak_live_bytes, bytes);
  below_peak_bytes_.store(figures_.peak_live_bytes - bytes, std::memory_order_relaxed);
  if (recorder_ != nullptr) recorder_->record(bytes);
  profile::live(this, bytes);
}

// False of memory that is not the host's; and at the thread's end, when nobody would tell any more.
bool Allocator::begin_to_keep() {
  if (!is_host_) return false;
  struct Last {
    ~Last() {
      keep_of(nullptr);
      kept.is_over = true;
    }
  };
  thread_local Last last;
  static_cast<void>(last);
  if (kept.is_over) return false;
  keep_of(this);
  return true;
}

// From here on; null: of none.
void Allocator::keep_of(Allocator* allocator) {
  tell_kept();
  kept.of = allocator;
}

// Of this allocator, if the calling thread keeps its count.
inline void Allocator::add_kept_locked() {
  if (kept.of != this || !has_kept()) return;
  const std::int64_t before = figures_.live_bytes;
  set_live(before + kept.most_bytes);
  set_live(before + kept.bytes);
  kept.bytes = kept.most_bytes = 0;
}

inline void Allocator::count_live(std::int64_t change) {
  add_kept_locked();
  set_live(figures_.live_bytes + change);
}

void Allocator::add_kept() {
  const std::lock_guard lock(lock_);
  add_kept_locked();
}

std::byte* Allocator::take_and_count(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  const std::lock_guard lock(lock_);
  if (fault_ != nullptr && fault_(size_bytes)) throw std::bad_alloc();
  count_live(size_bytes);
  try {
    if (std::byte* const block = take_block(size_bytes)) return block;
  } catch (...) {  // of set_before_trim's function
    count_live(-size_bytes);
    throw;
  }
  count_live(-size_bytes);
  throw std::bad_alloc();
}

void Allocator::give_back_and_count(std::byte* block, std::int64_t size_bytes) {
  if (block == nullptr) return;
  const std::lock_guard lock(lock_);
  count_live(-size_bytes);
  give_back_block(block, size_bytes);
}

std::byte* Allocator::take_workspace(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  const std::lock_guard lock(lock_);
  std::byte* const block = take_block(size_bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void Allocator::give_back_workspace(std::byte* block, std::int64_t size_bytes) {
  if (block == nullptr) return;
  const std::lock_guard lock(lock_);
  give_back_block(block, size_bytes);
}

void Allocator::trim(std::int64_t most_cached_bytes) {
  const std::lock_guard lock(lock_);
  trim_locked(most_cached_bytes);
}

void Allocator::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(lock_);
  limit_bytes_ = bytes > INT64_MAX / 2 ? bytes : bytes + std::max(bytes / 8, fewest_spare_bytes);
}

void Allocator::set_max_cached(std::int64_t bytes) {
  const std::lock_guard lock(lock_);
  max_cached_bytes_ = bytes;
  trim_locked(bytes);
}

void Allocator::set_before_trim(std::function<void()> function) {
  const std::lock_guard lock(lock_);
  before_trim_ = std::move(function);
}

void Allocator::set_fault(bool (*fails)(std::int64_t size_bytes)) {
  const std::lock_guard lock(lock_);
  fault_ = fails;
  is_watched_.store(fault_ != nullptr || recorder_ != nullptr, std::memory_order_relaxed);
}

void Allocator::set_recorder(LiveBytesTimeline::Recorder* recorder) {
  const std::lock_guard lock(lock_);
  add_kept_locked();
  recorder_ = recorder;
  is_watched_.store(fault_ != nullptr || recorder_ != nullptr, std::memory_order_relaxed);
  if (recorder_ != nullptr) recorder_->record(figures_.live_bytes);
}

LiveBytesTimeline::Recorder* Allocator::recorder() {
  const std::lock_guard lock(lock_);
  return recorder_;
}

std::vector<LiveBytesTimeline::Sample> Allocator::samples() {
  const std::lock_guard lock(lock_);
  return recorder_ == nullptr ? std::vector<LiveBytesTimeline::Sample>() : recorder_->samples();
}

void Allocator::reset_peak() {
  const std::lock_guard lock(lock_);
  add_kept_locked();
  figures_.peak_live_bytes = figures_.live_bytes;
  below_peak_bytes_.store(0, std::memory_order_relaxed);
}

Allocator::Figures Allocator::figures() {
  const std::lock_guard lock(lock_);
  add_kept_locked();
  figures_.cached_bytes = cached_bytes();
  return figures_;
}

std::byte* Allocator::take_new(std::int64_t size_bytes) {
  ++figures_.system_calls;
  if (size_bytes >= large_bytes) return large_.take_clean(size_bytes);
  if (!is_host_) return take_new_small(size_bytes);
  return static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(size_bytes)));
}

std::byte* Allocator::take_new_small(std::int64_t size_bytes) {
  if (slab_bytes_ < size_bytes) {
    // What is left of the old one becomes blocks of the largest size it holds.
    if (slab_bytes_ > 0) give_back_block(slab_, slab_bytes_);
    slab_bytes_ = 0;
    slab_ = large_.take_kept(slab_size_bytes);
    if (slab_ == nullptr) slab_ = large_.take_clean(slab_size_bytes);
    if (slab_ == nullptr) return nullptr;
    slab_bytes_ = slab_size_bytes;
  }
  slab_bytes_ -= size_bytes;
  return std::exchange(slab_, slab_ + size_bytes);
}

std::byte* Allocator::take_uncached(std::int64_t size_bytes) {
  trim_for_take(std::clamp<std::int64_t>(limit_bytes_ - figures_.live_bytes, 0, max_cached_bytes_));
  if (std::byte* const block = take_new(size_bytes)) return block;
  trim_for_take(0);
  return take_new(size_bytes);
}

void Allocator::trim_for_take(std::int64_t most_cached_bytes) {
  if (cached_bytes() <= most_cached_bytes) return;
  if (!is_host_ && large_.kept_bytes() <= std::max<std::int64_t>(0, most_cached_bytes - small_cached_bytes_)) return;
  if (before_trim_) before_trim_();
  trim_locked(most_cached_bytes);
}

// The block of `size_bytes` that came last is the one too many: it goes, unless large ones can go instead.
void Allocator::trim_for_give_back(std::int64_t size_bytes) {
  if (before_trim_) return;
  figures_.system_calls += large_.trim(std::max<std::int64_t>(0, max_cached_bytes_ - small_cached_bytes_));
  if (!is_host_ || small_cached_bytes_ <= max_cached_bytes_) return;
  std::free(take_cached(size_bytes));
  ++figures_.system_calls;
}

void Allocator::trim_locked(std::int64_t most_cached_bytes) {
  figures_.system_calls += large_.trim(std::max<std::int64_t>(0, most_cached_bytes - small_cached_bytes_));
  if (!is_host_) return;
  for (std::size_t lines = small_.size(); small_cached_bytes_ > most_cached_bytes && lines-- > 0;) {
    std::vector<std::byte*>& blocks = small_[lines];
    while (!blocks.empty() && small_cached_bytes_ > most_cached_bytes) {
      std::free(blocks.back());
      blocks.pop_back();
      small_cached_bytes_ -= static_cast<std::int64_t>(lines) * 64;
      ++figures_.system_calls;
    }
  }
}

}  // namespace asyncgrad::detail
