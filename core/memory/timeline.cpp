#include "asyncgrad/core/memory/timeline.h"

#include <algorithm>

namespace asyncgrad {

void LiveBytesTimeline::Recorder::record(std::int64_t live_bytes, double elapsed_s) {
  while (elapsed_s >= interval_s_ * static_cast<double>(intervals_.size())) {
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      const std::size_t left = 2 * i, right = left + 1;
      intervals_[i] = std::max(left < intervals_.size() ? intervals_[left] : unseen,
                               right < intervals_.size() ? intervals_[right] : unseen);
    }
    interval_s_ *= 2;
  }
  std::int64_t& interval = intervals_[static_cast<std::size_t>(elapsed_s / interval_s_)];
  // An interval's maximum is also what was live when it began.
  interval = std::max({interval, live_bytes, last_bytes_});
  last_bytes_ = live_bytes;
}

std::vector<LiveBytesTimeline::Sample> LiveBytesTimeline::Recorder::samples() const {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    if (intervals_[i] != unseen) samples.push_back({static_cast<double>(i) * interval_s_, intervals_[i]});
  }
  return samples;
}

}  // namespace asyncgrad
