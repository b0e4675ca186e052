// The operations that were issued to a queue of an asynchronous device and are not complete. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/device/device_times.h"

namespace asyncgrad::detail {

// The events of one device, which are recorded again and again. For the launch thread.
class Events {
 public:
  // Returns an event that nothing waits for. May throw DeviceFailed.
  DeviceEvent& take(DeviceQueue& queue);
  void give_back(DeviceEvent& event) { free_.push_back(&event); }
  void clear();

 private:
  std::vector<std::unique_ptr<DeviceEvent>> all_;
  std::vector<DeviceEvent*> free_;  // has room for all
};

// One queue, and the operations that were issued to it and are not known to be complete, the oldest first. Operations
// without an event of their own complete together with the next one that has an event. For the launch thread; functions
// that call the device may throw DeviceFailed.
class IssuedQueue {
 public:
  struct Issued {
    std::uint64_t number;
    DeviceEvent* event = nullptr;  // recorded after it, or null
    bool has_failed = false;
    bool was_launched = false;  // the device may have begun it
    DeviceTimes::Span times{};
  };

  void set_queue(std::unique_ptr<DeviceQueue> queue) { queue_ = std::move(queue); }
  DeviceQueue& device_queue() { return *queue_; }

  bool is_empty() const { return issued_.empty(); }
  const std::deque<Issued>& all() const { return issued_; }
  // The sequence number on this queue of the operation that is issued next.
  std::uint64_t next_ticket() const { return first_ticket_ + issued_.size(); }
  void push(const Issued& issued) {
    issued_.push_back(issued);
    ++unrecorded_;
  }
  void pop();

  // How many of the youngest operations have no event after them, and whether that is all of them.
  int unrecorded() const { return unrecorded_; }
  bool is_unrecorded() const { return static_cast<std::size_t>(unrecorded_) == issued_.size(); }
  // Records an event after the youngest operation, unless it has one.
  void record(Events& events);
  // Returns an event after the operation with this ticket: when the event is complete, so is the operation. Records one
  // if necessary.
  const DeviceEvent& event_after(std::uint64_t ticket, Events& events);
  // Returns how many of the oldest operations are complete.
  std::size_t count_complete(Events& events);
  // Called after record(): blocks until the device has run everything.
  void wait();
  // Called when the device has failed: from now on no event is awaited.
  void forget_events() { unrecorded_ = 0; }

 private:
  std::unique_ptr<DeviceQueue> queue_;
  std::deque<Issued> issued_;
  std::uint64_t first_ticket_ = 0;
  int unrecorded_ = 0;
};

}  // namespace asyncgrad::detail
