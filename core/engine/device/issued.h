// What was issued to a queue of an asynchronous device, until it is complete. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/device/device_times.h"

namespace asyncgrad::detail {

// The events of one device, recorded again and again. For its launch thread.
class Events {
 public:
  // An event that nothing waits for. May throw DeviceFailed.
  DeviceEvent& take(DeviceQueue& queue);
  void give_back(DeviceEvent& event) { free_.push_back(&event); }
  void clear();

 private:
  std::vector<std::unique_ptr<DeviceEvent>> all_;
  std::vector<DeviceEvent*> free_;  // has room for all
};

// One queue, and the operations that were issued to it and are not known to be complete, the oldest first. Several
// complete together, when the event after the last of them does. For the launch thread; what calls the device may throw
// DeviceFailed.
class IssuedQueue {
 public:
  struct Issued {
    std::uint64_t number;
    DeviceEvent* event = nullptr;  // recorded after it, or null
    bool has_failed = false;
    DeviceTimes::Span times{};
  };

  void set_queue(std::unique_ptr<DeviceQueue> queue) { queue_ = std::move(queue); }
  DeviceQueue& device_queue() { return *queue_; }

  bool is_empty() const { return issued_.empty(); }
  const std::deque<Issued>& all() const { return issued_; }
  // The sequence number on this queue of what is issued next.
  std::uint64_t next_ticket() const { return first_ticket_ + issued_.size(); }
  void push(const Issued& issued) {
    issued_.push_back(issued);
    ++unrecorded_;
  }
  void pop();

  // The last ones have no event after them: so many; nothing else is in flight.
  int unrecorded() const { return unrecorded_; }
  bool is_unrecorded() const { return static_cast<std::size_t>(unrecorded_) == issued_.size(); }
  // Records an event after what was issued last, unless there is one.
  void record(Events& events);
  // The event that tells that the one of the ticket, and perhaps some after it, are complete.
  const DeviceEvent& event_after(std::uint64_t ticket, Events& events);
  // So many of the first are complete.
  std::size_t count_complete(Events& events);
  // After record(): blocks until the device has come to its end.
  void wait();
  // The device does nothing any more: nothing waits for an event.
  void forget_events() { unrecorded_ = 0; }

 private:
  std::unique_ptr<DeviceQueue> queue_;
  std::deque<Issued> issued_;
  std::uint64_t first_ticket_ = 0;
  int unrecorded_ = 0;
};

}  // namespace asyncgrad::detail
