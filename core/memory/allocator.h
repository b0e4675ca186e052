// The allocator of a device. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <utility>

#include "asyncgrad/core/memory/block_cache.h"
#include "asyncgrad/core/memory/live_bytes.h"
#include "asyncgrad/core/memory/live_recording.h"
#include "asyncgrad/core/memory/memory_source.h"
#include "asyncgrad/core/memory/small_objects.h"
#include "asyncgrad/core/sync/fork_locks.h"

namespace asyncgrad::detail {

// Gives out blocks of whole cache lines, counts them (LiveBytes), reports changes (LiveRecording) and keeps returned
// ones (BlockCache). Tiny blocks of the host are small objects instead: threads keep them and never give them back to
// the system. Memory is counted before take() returns and until give_back() begins. Giving back neither allocates nor
// throws.
//
// Thread safety: any thread may call any function. If the device has a launch thread, only that thread may call take()
// and take_workspace().
class Allocator {
 public:
  explicit Allocator(MemorySource& source = host_memory())
      : is_host_(&source == &host_memory()),
        ends_values_at_pages_(source.ends_values_at_pages()),
        cache_(source, live_) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A block of `size_bytes` (a multiple of 64), 64-byte aligned; null for 0. Throws std::bad_alloc if the system has
  // none left even after the cache was given back.
  std::byte* take(std::int64_t size_bytes) {
    if (size_bytes == 0) return nullptr;
    // Relaxed: a test sets it while nothing else runs.
    if (!is_tiny(size_bytes) || fault_.load(std::memory_order_relaxed) != nullptr) return take_slowly(size_bytes);
    std::byte* const block = take_tiny(size_bytes);
    recording_.report(live_.add(size_bytes));
    return block;
  }
  void give_back(std::byte* block, std::int64_t size_bytes) noexcept {
    if (block == nullptr) return;
    recording_.report(live_.subtract(size_bytes));
    give_back_workspace(block, size_bytes);
  }
  // The same for a block with a value of `value_bytes`, which lies at its begin, or at its end if the source says so.
  std::byte* take_for(std::int64_t value_bytes, std::int64_t size_bytes) {
    return take(size_bytes) + bytes_before(value_bytes, size_bytes);
  }
  void give_back_of(std::byte* value, std::int64_t value_bytes, std::int64_t size_bytes) noexcept {
    give_back(value - bytes_before(value_bytes, size_bytes), size_bytes);
  }
  // Does the same for kernels' scratch memory, which does not count as live.
  std::byte* take_workspace(std::int64_t size_bytes);
  void give_back_workspace(std::byte* block, std::int64_t size_bytes) noexcept {
    if (block == nullptr) return;
    if (is_tiny(size_bytes)) return SmallObjects::give_back(block, static_cast<std::size_t>(size_bytes));
    give_back_slowly(block, size_bytes);
  }

  // --- Pinned blocks, of the host. They count as the others do, but have a cache of their own, to which the limits below
  // --- apply by itself.
  // Lets take_pinned() take blocks from this source, unless it takes them from another one.
  void use_pinned(MemorySource& source);
  bool has_pinned() const { return pinned_.load(std::memory_order_acquire) != nullptr; }
  // For tests: the next call of use_pinned() decides again. While no pinned block is in use but those that are left to a
  // lost GPU, which do not count any more; the cached ones are lost.
  void forget_pinned() {
    pinned_.store(nullptr, std::memory_order_release);
    recording_.report(live_.subtract(pinned_bytes_.exchange(0, std::memory_order_relaxed)));
  }
  // As take() and give_back(). The source may throw Error, too.
  std::byte* take_pinned(std::int64_t size_bytes);
  void give_back_pinned(std::byte* block, std::int64_t size_bytes) noexcept;

  // Gives cached memory back to the system until each cache has at most `max_cached_bytes`, or only small blocks that it
  // keeps, see BlockCache::trim(). Tiny blocks of the host do not count.
  void trim(std::int64_t max_cached_bytes = 0);
  // Keeps live and cached bytes together within 1.125 times this limit and four megabytes, while live bytes alone are
  // within the limit. The eighth is for ranges that are free and too short, the megabytes for those of small programs:
  // their blocks would go back to the system again and again, and come back at other addresses.
  void set_limit(std::int64_t bytes);
  // Keeps the cached bytes alone within this limit. On a device that may still use cached memory, only take() enforces
  // this, see set_before_trim. Called while nothing is in flight.
  void set_max_cached(std::int64_t bytes);
  // take() calls the function before it gives cached memory back to the system: a device that runs on its own may still
  // use that memory. Null: none.
  void set_before_trim(std::function<void()> function);
  // For tests: take() calls it before it takes a block. If it returns true, take() fails as if the system had no
  // memory. Null: none.
  void set_fault(bool (*fails)(std::int64_t size_bytes)) { fault_.store(fails, std::memory_order_relaxed); }
  LiveRecording& recording() { return recording_; }
  void reset_peak() { live_.reset_peak(); }

  struct Figures {
    std::int64_t live_bytes = 0, peak_live_bytes = 0, cached_bytes = 0, system_calls = 0;
  };
  Figures figures();

  // See ForkLocks; for an allocator that is never destroyed.
  void hold_at_fork() {
    ForkLocks::add(cache_.lock(), ForkLocks::Kind::outer);
    recording_.hold_at_fork();
  }

 private:
  static constexpr std::int64_t max_tiny_bytes = 512;

  std::int64_t bytes_before(std::int64_t value_bytes, std::int64_t size_bytes) const {
    return ends_values_at_pages_ ? size_bytes - value_bytes : 0;
  }
  bool is_tiny(std::int64_t size_bytes) const { return is_host_ && size_bytes <= max_tiny_bytes; }
  std::byte* take_tiny(std::int64_t size_bytes) {
    try {
      return static_cast<std::byte*>(SmallObjects::take(static_cast<std::size_t>(size_bytes)));
    } catch (const std::bad_alloc&) {
      trim();
      return static_cast<std::byte*>(SmallObjects::take(static_cast<std::size_t>(size_bytes)));
    }
  }
  void check_fault(std::int64_t size_bytes) const;
  // A block of a cache, even if the other one has to be given back for it. It counts as live, and `live_bytes` gets the
  // sum, unless that is null.
  std::byte* take_from(BlockCache& cache, std::int64_t size_bytes, std::int64_t* live_bytes);
  std::byte* take_once(BlockCache& cache, std::int64_t size_bytes, std::int64_t* live_bytes);
  template <class Function>
  void each_cache(Function function);
  std::byte* take_slowly(std::int64_t size_bytes);
  void give_back_slowly(std::byte* block, std::int64_t size_bytes) noexcept;

  // Every call reads these, so they are on a cache line that is not written.
  const bool is_host_, ends_values_at_pages_;
  std::atomic<bool (*)(std::int64_t)> fault_{nullptr};
  alignas(128) LiveBytes live_;
  LiveRecording recording_{live_};  // its flag is read with every change: on the same cache line
  alignas(128) BlockCache cache_;
  // Of pinned blocks; null: there is no source. It is never destroyed, as forks hold its lock.
  std::atomic<BlockCache*> pinned_{nullptr};
  std::atomic<std::int64_t> pinned_bytes_{0};  // of the live ones. Relaxed: for forget_pinned() alone
};

}  // namespace asyncgrad::detail
