// The counting allocator of a CPU device. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/engine/sync.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/storage/page_ranges.h"

namespace asyncgrad::detail {

// Gives out blocks of whole cache lines and counts them. Returned blocks are kept for requests of the same size, which
// is what a training loop makes; when live and cached memory together would pass the limit, cached blocks go back to
// the system, largest first. Any thread may call any function.
class Allocator {
 public:
  // A block of `size_bytes` (a multiple of 64), 64-byte aligned; null for 0. Throws std::bad_alloc if the system has
  // none left even after the cache was given back.
  std::byte* take(std::int64_t size_bytes);
  void give_back(std::byte* block, std::int64_t size_bytes);

  void trim(std::int64_t most_cached_bytes = 0);
  // Live and cached bytes together stay within 1.125 times this, or a megabyte more, while live alone is within it. The
  // eighth is for ranges that are free and too short: without it the chapter's step faults ten megabytes in anew every
  // time. The megabyte is for the blocks of small programs, each of which would be the system's again and again.
  void set_limit(std::int64_t bytes);
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

  std::byte* take_cached(std::int64_t size_bytes);
  std::byte* take_new(std::int64_t size_bytes);
  void count_live(std::int64_t change);
  void trim_locked(std::int64_t most_cached_bytes);

  SpinLock lock_;  // over everything below
  Figures figures_;
  std::int64_t limit_bytes_ = INT64_MAX;
  LiveBytesTimeline::Recorder* recorder_ = nullptr;
  bool (*fault_)(std::int64_t) = nullptr;
  std::vector<std::vector<std::byte*>> small_ = std::vector<std::vector<std::byte*>>(large_bytes / 64);  // by lines
  std::int64_t small_cached_bytes_ = 0;
  PageRanges large_;
};

}  // namespace asyncgrad::detail
