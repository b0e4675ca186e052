// The counting allocator of a device. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/memory/page_ranges.h"
#include "asyncgrad/core/memory/small_objects.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/sync/sync.h"

namespace asyncgrad::detail {

// Gives out blocks of whole cache lines and counts them. Returned blocks are kept for requests of the same size, which
// is what a training loop makes; when live and cached memory together would pass the limit, cached blocks go back to
// the system, largest first. Tiny ones of the host's are small objects: threads keep them, and never give them back to
// the system. Any thread may call any function; but take() and take_workspace() of a device that has a launch
// thread, that thread alone.
class Allocator {
 public:
  explicit Allocator(MemorySource& source = host_memory()) : is_host_(&source == &host_memory()), large_(source) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator() {
    if (kept.of == this) keep_of(nullptr);
  }

  // A block of `size_bytes` (a multiple of 64), 64-byte aligned; null for 0. Throws std::bad_alloc if the system has
  // none left even after the cache was given back.
  //
  // The same few bytes are taken and given back again and again: a thread keeps the count of tiny blocks to itself
  // until it calls tell_kept(), looks at the figures, counts anything else, has 4 KiB to tell, or ends. What it sees
  // itself is exact while nothing else runs; other threads see what is up to 4 KiB old. Not while a profile or a
  // timeline records.
  std::byte* take(std::int64_t size_bytes) {
    if (!keeps_count_of(size_bytes)) return take_and_count(size_bytes);
    try {
      std::byte* const block = new_tiny(size_bytes);
      keep_count(size_bytes);
      return block;
    } catch (const std::bad_alloc&) {
      return take_and_count(size_bytes);
    }
  }
  void give_back(std::byte* block, std::int64_t size_bytes) {
    if (!keeps_count_of(size_bytes)) return give_back_and_count(block, size_bytes);
    SmallObjects::give_back(block, static_cast<std::size_t>(size_bytes));
    keep_count(-size_bytes);
  }
  // Tells what the calling thread has kept, of any allocator: before the end of an operation lets others take memory,
  // and before memory is counted for what this thread queues.
  static void tell_kept() {
    if (!has_kept()) return;
    // What came and went, and made no peak, leaves nothing to tell.
    if (kept.bytes == 0 && kept.most_bytes <= kept.of->below_peak_bytes_.load(std::memory_order_relaxed)) {
      kept.most_bytes = 0;
    } else {
      kept.of->add_kept();
    }
  }
  // As take() and give_back(), but counted neither as live nor as cached: kernels' scratch.
  std::byte* take_workspace(std::int64_t size_bytes);
  void give_back_workspace(std::byte* block, std::int64_t size_bytes);

  // What is cached; of the host's blocks those that are not tiny.
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
  void set_recorder(LiveBytesTimeline::Recorder* recorder);  // null: none
  LiveBytesTimeline::Recorder* recorder();
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
  static constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 12;

  // Of the calling thread: what it has not told yet, and the most that this was since it told.
  struct Kept {
    Allocator* of;  // null: it keeps none
    std::int64_t bytes, most_bytes;
    bool is_over;  // the thread ends
  };

  bool is_tiny(std::int64_t size_bytes) const { return is_host_ && size_bytes <= tiny_bytes; }
  bool keeps_count_of(std::int64_t size_bytes) {
    // Relaxed: who sets it sees it, and others may be late.
    const bool may_keep =
        size_bytes > 0 && size_bytes <= tiny_bytes && !is_watched_.load(std::memory_order_relaxed) && !profile::is_on();
    return may_keep && (kept.of == this || begin_to_keep());  // of the host's alone
  }
  bool begin_to_keep();
  static void keep_of(Allocator* allocator);
  static bool has_kept() { return kept.bytes != 0 || kept.most_bytes != 0; }
  static void keep_count(std::int64_t change) {
    kept.bytes += change;
    kept.most_bytes = std::max(kept.most_bytes, kept.bytes);
    if (kept.bytes > most_kept_bytes || kept.bytes < -most_kept_bytes) tell_kept();
  }
  void add_kept();
  void add_kept_locked();
  void set_live(std::int64_t bytes);

  static std::byte* new_tiny(std::int64_t size_bytes) {
    return static_cast<std::byte*>(SmallObjects::take(static_cast<std::size_t>(size_bytes)));
  }
  std::byte* take_and_count(std::int64_t size_bytes);
  void give_back_and_count(std::byte* block, std::int64_t size_bytes);
  std::byte* take_block(std::int64_t size_bytes);
  void give_back_block(std::byte* block, std::int64_t size_bytes);
  std::byte* take_tiny(std::int64_t size_bytes);
  std::byte* take_cached(std::int64_t size_bytes);
  std::byte* take_uncached(std::int64_t size_bytes);
  std::byte* take_new(std::int64_t size_bytes);
  std::byte* take_new_small(std::int64_t size_bytes);
  std::int64_t cached_bytes() const { return small_cached_bytes_ + large_.kept_bytes(); }
  void count_live(std::int64_t change);
  void trim_for_take(std::int64_t most_cached_bytes);
  void trim_for_give_back(std::int64_t size_bytes);
  void trim_locked(std::int64_t most_cached_bytes);

  static inline constinit thread_local Kept kept{};

  const bool is_host_;
  std::atomic<bool> is_watched_{false};  // each change is to be told of at once
  // How far live memory is below its peak. Written under the lock; relaxed, as all that is told may be late.
  std::atomic<std::int64_t> below_peak_bytes_{0};

  alignas(128) SpinLock lock_;  // over everything below
  Figures figures_;
  std::int64_t limit_bytes_ = INT64_MAX, max_cached_bytes_ = INT64_MAX;
  LiveBytesTimeline::Recorder* recorder_ = nullptr;
  bool (*fault_)(std::int64_t) = nullptr;
  std::vector<std::vector<std::byte*>> small_ = std::vector<std::vector<std::byte*>>(large_bytes / 64);  // by lines
  std::int64_t small_cached_bytes_ = 0;
  PageRanges large_;
  // Of a device with memory of its own: what is left of the last large block that was cut into small ones. Those are
  // never given back to the system.
  std::byte* slab_ = nullptr;
  std::int64_t slab_bytes_ = 0;
  std::function<void()> before_trim_;
};

}  // namespace asyncgrad::detail
