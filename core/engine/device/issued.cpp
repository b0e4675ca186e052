#include "asyncgrad/core/engine/device/issued.h"

#include <algorithm>
#include <thread>

namespace asyncgrad::detail {

DeviceEvent& Events::take(DeviceQueue& queue) {
  if (free_.empty()) {
    all_.reserve(all_.size() + 1);
    free_.reserve(all_.size() + 1);
    all_.push_back(queue.make_event());
    free_.push_back(all_.back().get());
  }
  DeviceEvent& event = *free_.back();
  free_.pop_back();
  return event;
}

void Events::clear() {
  free_.clear();
  all_.clear();
}

void IssuedQueue::pop() {
  issued_.pop_front();
  ++first_ticket_;
}

void IssuedQueue::record(Events& events) {
  if (unrecorded_ == 0) return;
  DeviceEvent& event = events.take(*queue_);
  try {
    queue_->record(event);
  } catch (...) {
    events.give_back(event);
    throw;
  }
  issued_.back().event = &event;
  unrecorded_ = 0;
}

const DeviceEvent& IssuedQueue::event_after(std::uint64_t ticket, Events& events) {
  for (std::size_t i = ticket - first_ticket_; i < issued_.size(); ++i) {
    if (issued_[i].event != nullptr) return *issued_[i].event;
  }
  record(events);
  return *issued_.back().event;
}

std::size_t IssuedQueue::count_complete(Events& events) {
  const auto recorded = std::ranges::find_if(issued_, [](const Issued& issued) { return issued.event != nullptr; });
  if (recorded == issued_.end() || !queue_->is_complete(*recorded->event)) return 0;
  // No queue waits for a complete event, so it may be recorded again.
  events.give_back(*recorded->event);
  return static_cast<std::size_t>(recorded - issued_.begin()) + 1;
}

void IssuedQueue::wait() {
  if (issued_.empty()) return;
  while (!queue_->is_complete(*issued_.back().event)) std::this_thread::yield();
}

}  // namespace asyncgrad::detail
