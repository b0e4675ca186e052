// The samples of a LiveBytesTimeline. Internal.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/memory.h"

namespace asyncgrad {

// The maximum of live bytes within each of at most `max_samples` intervals of equal length; when time runs past the
// last one, neighbours are merged and the length doubles. Thread safety: under the lock of the LiveRecording that it
// belongs to.
struct LiveBytesTimeline::Recorder {
 public:
  explicit Recorder(int max_samples) : intervals_(static_cast<std::size_t>(max_samples), unseen) {}

  // Adds a sample: `live_bytes` are live from now on.
  void record(std::int64_t live_bytes) {
    record(live_bytes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }
  // The same at `elapsed_s` after the beginning, which must not decrease from call to call.
  void record(std::int64_t live_bytes, double elapsed_s);
  std::vector<Sample> samples() const;

 private:
  static constexpr std::int64_t unseen = -1;  // live memory did not change within that interval

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double interval_s_ = 1e-3;
  std::vector<std::int64_t> intervals_;
  std::int64_t last_bytes_ = unseen;
};

}  // namespace asyncgrad
