// What LiveBytesTimeline records. Internal.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/memory.h"

namespace asyncgrad {

// The maximum of live bytes within each of at most `most_samples` intervals of equal length; when time runs past the
// last one, neighbours are merged and the length doubles. Under the lock of the allocator that it belongs to.
struct LiveBytesTimeline::Recorder {
 public:
  explicit Recorder(int most_samples) : intervals_(static_cast<std::size_t>(most_samples), unseen) {}

  // So many bytes are live from now on.
  void record(std::int64_t live_bytes) {
    record(live_bytes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }
  // The same, so long after the beginning; `elapsed_s` does not fall.
  void record(std::int64_t live_bytes, double elapsed_s);
  std::vector<Sample> samples() const;

 private:
  static constexpr std::int64_t unseen = -1;  // nothing changed within that interval

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double interval_s_ = 1e-3;
  std::vector<std::int64_t> intervals_;
  std::int64_t last_bytes_ = unseen;
};

}  // namespace asyncgrad
