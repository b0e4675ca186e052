#include "asyncgrad/core/memory/live_recording.h"

#include "asyncgrad/core/memory/timeline.h"

namespace asyncgrad::detail {

// Threads may come here in another order than that of their changes. So each of them also reports the bytes that are
// live now, and the last report has the final value.
void LiveRecording::report_slowly(std::int64_t live_bytes) {
  const SpinLockGuard lock(lock_);
  const std::int64_t now_live = live_.now();
  profile::live(this, live_bytes);
  if (now_live != live_bytes) profile::live(this, now_live);
  if (recorder_ == nullptr) return;
  recorder_->record(live_bytes);
  recorder_->record(now_live);
}

bool LiveRecording::begin(LiveBytesTimeline::Recorder& recorder) {
  const SpinLockGuard lock(lock_);
  if (recorder_ != nullptr) return false;
  recorder_ = &recorder;
  is_on_.store(true, std::memory_order_seq_cst);
  recorder_->record(live_.now());
  return true;
}

void LiveRecording::end() {
  const SpinLockGuard lock(lock_);
  is_on_.store(false, std::memory_order_seq_cst);
  recorder_ = nullptr;
}

std::vector<LiveBytesTimeline::Sample> LiveRecording::samples() {
  const SpinLockGuard lock(lock_);
  return recorder_ == nullptr ? std::vector<LiveBytesTimeline::Sample>() : recorder_->samples();
}

}  // namespace asyncgrad::detail
