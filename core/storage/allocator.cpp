#include "asyncgrad/core/storage/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include "asyncgrad/core/storage/timeline.h"

namespace asyncgrad::detail {

namespace {

// From here on blocks come straight from the system and go straight back, so that trimming is seen in the resident set.
constexpr std::int64_t mapped_bytes = std::int64_t{1} << 20;

std::byte* from_system(std::int64_t size_bytes) {
  const auto size = static_cast<std::size_t>(size_bytes);
  if (size_bytes < mapped_bytes) return static_cast<std::byte*>(std::aligned_alloc(64, size));
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
}

void to_system(std::byte* block, std::int64_t size_bytes) {
  if (size_bytes < mapped_bytes) {
    std::free(block);
  } else {
    munmap(block, static_cast<std::size_t>(size_bytes));
  }
}

}  // namespace

std::byte* Allocator::take(std::int64_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  {
    const std::lock_guard lock(lock_);
    count_live(size_bytes);
    std::vector<std::byte*>& blocks = blocks_of(size_bytes);
    if (!blocks.empty()) {
      std::byte* block = blocks.back();
      blocks.pop_back();
      figures_.cached_bytes -= size_bytes;
      return block;
    }
    ++figures_.system_calls;
    if (figures_.cached_bytes > 0) trim_locked(std::max<std::int64_t>(0, limit_bytes_ - figures_.live_bytes));
  }
  std::byte* block = from_system(size_bytes);
  if (block == nullptr) {
    trim();
    block = from_system(size_bytes);
  }
  if (block == nullptr) {
    const std::lock_guard lock(lock_);
    count_live(-size_bytes);
    throw std::bad_alloc();
  }
  return block;
}

void Allocator::give_back(std::byte* block, std::int64_t size_bytes) {
  if (block == nullptr) return;
  const std::lock_guard lock(lock_);
  count_live(-size_bytes);
  blocks_of(size_bytes).push_back(block);
  figures_.cached_bytes += size_bytes;
}

void Allocator::trim(std::int64_t most_cached_bytes) {
  const std::lock_guard lock(lock_);
  trim_locked(most_cached_bytes);
}

void Allocator::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(lock_);
  limit_bytes_ = bytes;
}

void Allocator::set_recorder(LiveBytesTimeline::Recorder* recorder) {
  const std::lock_guard lock(lock_);
  recorder_ = recorder;
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
  figures_.peak_live_bytes = figures_.live_bytes;
}

Allocator::Figures Allocator::figures() {
  const std::lock_guard lock(lock_);
  return figures_;
}

std::vector<std::byte*>& Allocator::blocks_of(std::int64_t size_bytes) {
  return size_bytes <= small_bytes ? small_[size_bytes / 64] : large_[size_bytes];
}

void Allocator::count_live(std::int64_t change) {
  figures_.live_bytes += change;
  figures_.peak_live_bytes = std::max(figures_.peak_live_bytes, figures_.live_bytes);
  if (recorder_ != nullptr) recorder_->record(figures_.live_bytes);
}

void Allocator::trim_locked(std::int64_t most_cached_bytes) {
  while (figures_.cached_bytes > most_cached_bytes) {
    // The largest size first: fewest calls. A loop's sizes are few, so a walk over them is short.
    std::vector<std::byte*>* blocks = nullptr;
    std::int64_t size_bytes = 0;
    for (auto& [size, list] : large_) {
      if (!list.empty() && size > size_bytes) blocks = &list, size_bytes = size;
    }
    for (std::int64_t size = small_bytes; blocks == nullptr && size > 0; size -= 64) {
      if (!small_[size / 64].empty()) blocks = &small_[size / 64], size_bytes = size;
    }
    if (blocks == nullptr) return;
    to_system(blocks->back(), size_bytes);
    blocks->pop_back();
    figures_.cached_bytes -= size_bytes;
    ++figures_.system_calls;
  }
}

}  // namespace asyncgrad::detail
