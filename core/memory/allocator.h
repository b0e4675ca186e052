// The counting allocator of a device. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/memory/block_lists.h"
#include "asyncgrad/core/memory/page_ranges.h"
#include "asyncgrad/core/memory/small_objects.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// Gives out blocks of whole cache lines and counts them. Returned blocks are kept for requests of the same size, which
// is what a training loop makes; when live and cached memory together would pass the limit, cached blocks go back to
// the system, largest first. Tiny ones of the host's are small objects: threads keep them, and never give them back to
// the system. To give back neither allocates nor throws. Any thread may call any function; but take() and
// take_workspace() of a device that has a launch thread, that thread alone.
//
// Live memory is counted to the byte: every change is a step of one number, and the peak is the largest value that it
// had. Memory is counted before take() returns and until give_back() begins.
class Allocator {
 public:
  explicit Allocator(MemorySource& source = host_memory()) : is_host_(&source == &host_memory()), large_(source) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A block of `size_bytes` (a multiple of 64), 64-byte aligned; null for 0. Throws std::bad_alloc if the system has
  // none left even after the cache was given back.
  std::byte* take(std::int64_t size_bytes) {
    if (size_bytes == 0) return nullptr;
    // Relaxed: a test sets it while nothing else runs.
    if (!is_tiny(size_bytes) || fault_.load(std::memory_order_relaxed) != nullptr) return take_slowly(size_bytes);
    std::byte* const block = take_tiny(size_bytes);
    tell(add_live(size_bytes));
    return block;
  }
  void give_back(std::byte* block, std::int64_t size_bytes) noexcept {
    if (block == nullptr) return;
    const std::int64_t live_bytes = live_bytes_.fetch_sub(size_bytes, std::memory_order_seq_cst) - size_bytes;
    tell(live_bytes);
    give_back_workspace(block, size_bytes);
  }
  // They do as take() and give_back() do, but kernels' scratch is not counted as live.
  std::byte* take_workspace(std::int64_t size_bytes);
  void give_back_workspace(std::byte* block, std::int64_t size_bytes) noexcept {
    if (block == nullptr) return;
    if (is_tiny(size_bytes)) return SmallObjects::give_back(block, static_cast<std::size_t>(size_bytes));
    give_back_slowly(block, size_bytes);
  }

  // The bytes in the cache; tiny blocks of the host are not counted.
  void trim(std::int64_t most_cached_bytes = 0);
  // Live and cached bytes together stay within 1.125 times this, or a megabyte more, while live alone is within it. The
  // eighth is for ranges that are free and too short: without it the chapter's step faults ten megabytes in anew every
  // time. The megabyte is for the blocks of small programs, each of which would be the system's again and again.
  void set_limit(std::int64_t bytes);
  // Cached bytes alone stay within this. Where a device may still be using them, see set_before_trim, only take() sees
  // to that. While nothing is in flight.
  void set_max_cached(std::int64_t bytes);
  // Called before cached memory is taken away by take(): a device that runs on its own may still be using it. Null:
  // nothing.
  void set_before_trim(std::function<void()> function);
  // For tests: asked before each block; true: as if the system had none. Null: nothing.
  void set_fault(bool (*fails)(std::int64_t size_bytes));
  // From here on every change of live memory is recorded. False if there is a recorder already.
  bool begin_to_record(LiveBytesTimeline::Recorder& recorder);
  void end_to_record();
  std::vector<LiveBytesTimeline::Sample> samples();  // of the recorder
  void reset_peak();

  struct Figures {
    std::int64_t live_bytes = 0, peak_live_bytes = 0, cached_bytes = 0, system_calls = 0;
  };
  Figures figures();

 private:
  // From here on blocks are ranges of pages; below the system's own allocator gives them.
  static constexpr std::int64_t large_bytes = std::int64_t{1} << 20;
  static constexpr std::int64_t fewest_spare_bytes = std::int64_t{1} << 20;
  static constexpr std::int64_t slab_size_bytes = std::int64_t{2} << 20;

  static constexpr std::int64_t tiny_bytes = 512;  // the largest of tiny blocks

  bool is_tiny(std::int64_t size_bytes) const { return is_host_ && size_bytes <= tiny_bytes; }

  // Sequentially consistent, this and the subtraction in give_back(). Memory that goes is counted as gone before
  // admission hears of it, and what admission lets in is counted after. And "counted, then the peak" and "counted, then
  // is_recorded_" meet "the peak, then what is counted" in reset_peak() and "is_recorded_, then what is counted" in
  // begin_to_record(): one of the two sees the other.
  std::int64_t add_live(std::int64_t size_bytes) {
    const std::int64_t live_bytes = live_bytes_.fetch_add(size_bytes, std::memory_order_seq_cst) + size_bytes;
    if (live_bytes > peak_live_bytes_.load(std::memory_order_seq_cst)) raise_peak(live_bytes);
    return live_bytes;
  }
  void raise_peak(std::int64_t live_bytes);
  // Tells who records of a change, after which so much was live.
  void tell(std::int64_t live_bytes) {
    if (is_recorded_.load(std::memory_order_seq_cst) || profile::is_on()) tell_recorders(live_bytes);
  }
  void tell_recorders(std::int64_t live_bytes);

  std::byte* take_tiny(std::int64_t size_bytes) {
    try {
      return static_cast<std::byte*>(SmallObjects::take(static_cast<std::size_t>(size_bytes)));
    } catch (const std::bad_alloc&) {
      trim();
      return static_cast<std::byte*>(SmallObjects::take(static_cast<std::size_t>(size_bytes)));
    }
  }
  std::byte* take_slowly(std::int64_t size_bytes);
  void give_back_slowly(std::byte* block, std::int64_t size_bytes) noexcept;

  std::byte* take_block(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  void give_back_block(std::byte* block, std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_cached(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_uncached(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_new(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  std::byte* take_new_small(std::int64_t size_bytes) ASYNCGRAD_REQUIRES(lock_);
  bool make_slab() ASYNCGRAD_REQUIRES(lock_);
  std::int64_t cached_bytes() const ASYNCGRAD_REQUIRES(lock_) { return small_.bytes() + large_.kept_bytes(); }
  void trim_for_take(std::int64_t most_cached_bytes) ASYNCGRAD_REQUIRES(lock_);
  void trim_for_give_back(std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);
  void trim_locked(std::int64_t most_cached_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);
  void free_small(std::int64_t size_bytes) noexcept ASYNCGRAD_REQUIRES(lock_);

  const bool is_host_;
  std::atomic<bool (*)(std::int64_t)> fault_{nullptr};

  // See add_live().
  alignas(128) std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> peak_live_bytes_{0};
  std::atomic<bool> is_recorded_{false};

  alignas(128) SpinLock lock_;
  std::int64_t limit_bytes_ ASYNCGRAD_GUARDED_BY(lock_) = INT64_MAX;
  std::int64_t max_cached_bytes_ ASYNCGRAD_GUARDED_BY(lock_) = INT64_MAX;
  std::int64_t system_calls_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  LiveBytesTimeline::Recorder* recorder_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
  BlockLists small_ ASYNCGRAD_GUARDED_BY(lock_){large_bytes};
  PageRanges large_ ASYNCGRAD_GUARDED_BY(lock_);
  // Of a device with memory of its own: what is left of the last large block that was cut into small ones. Those are
  // never given back to the system.
  std::byte* slab_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
  std::int64_t slab_bytes_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  std::function<void()> before_trim_ ASYNCGRAD_GUARDED_BY(lock_);
};

}  // namespace asyncgrad::detail
