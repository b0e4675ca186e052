#include "asyncgrad/core/engine/device/device_times.h"

#include <algorithm>

#include "asyncgrad/core/profile/records.h"

namespace asyncgrad::detail {

void DeviceTimes::follow_profiler(DeviceQueue& clock) {
  const std::uint32_t recording = profile::recording_number();
  if (recording == recording_) return;
  if (profile::is_recording(recording)) return start(clock, recording);
  const std::size_t used = base_ == nullptr ? 0 : 1;
  if (free_.size() + used < events_.size()) return;  // some are in flight
  clear();
  recording_ = recording;
}

void DeviceTimes::start(DeviceQueue& clock, std::uint32_t recording) {
  recording_ = recording;
  clock_ = &clock;
  if (base_ == nullptr) base_ = take_event();
  // The host may see the event late, so it tries again. An uncertainty of some microseconds is good enough.
  constexpr std::int64_t good_ns = 20'000;
  for (int tries = 8; base_ != nullptr && tries > 0 && measure_base() > good_ns;) --tries;
}

// Records the base event. Returns the time between the last look before the device reached it and the first look after.
std::int64_t DeviceTimes::measure_base() {
  std::int64_t before_ns = profile::now_ns();
  clock_->record(*base_);
  for (std::int64_t now_ns = before_ns; !clock_->is_complete(*base_); now_ns = profile::now_ns()) before_ns = now_ns;
  const std::int64_t after_ns = profile::now_ns();
  base_ns_ = before_ns + (after_ns - before_ns) / 2;
  return after_ns - before_ns;
}

DeviceTimes::Span DeviceTimes::begin(DeviceQueue& queue) {
  if (base_ == nullptr || profile::recording_number() != recording_) return {};
  Span span{.begin = take_event(), .issued_ns = profile::now_ns(), .recording = recording_};
  queue.record(*span.begin);
  return span;
}

void DeviceTimes::end(DeviceQueue& queue, Span& span) {
  if (span.begin == nullptr) return;
  span.end = take_event();
  queue.record(*span.end);
}

// The two clocks never quite agree: the times are clamped to what the host knows for certain.
void DeviceTimes::complete(const Span& span, std::uint64_t number, int queue) {
  if (span.begin == nullptr) return;
  free_.push_back(span.begin);
  if (span.end == nullptr) return;
  free_.push_back(span.end);
  if (span.recording != recording_) return;
  const std::int64_t seen_ns = profile::now_ns();
  const std::int64_t begin_ns = base_ns_ + clock_->ns_between(*base_, *span.begin);
  // The span is not measured from the base, because a device measures long times less exactly.
  const std::int64_t end_ns = begin_ns + clock_->ns_between(*span.begin, *span.end);
  const auto known = [&](std::int64_t time_ns) { return std::clamp(time_ns, span.issued_ns, seen_ns); };
  profile::ran_on_device({number, device_, queue, known(begin_ns), known(end_ns)});
}

void DeviceTimes::clear() {
  events_.clear();
  free_.clear();
  base_ = nullptr;
}

// Null if the device has no clock.
DeviceEvent* DeviceTimes::take_event() {
  if (free_.empty()) {
    std::unique_ptr<DeviceEvent> made = clock_->make_timed_event();
    if (made == nullptr) return nullptr;
    free_.push_back(made.get());
    events_.push_back(std::move(made));
  }
  DeviceEvent* const event = free_.back();
  free_.pop_back();
  return event;
}

}  // namespace asyncgrad::detail
