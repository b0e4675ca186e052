// The stream of an asynchronous device. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/device/device_times.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// Issues operations to a device's queues, and completes them when the device is done with them. One thread does both,
// the only one that calls the device; it looks at the queues as long as there is something in flight, and sleeps else.
//
// An operation is issued when those that it waits for on this device are issued and all others are complete. What a
// queue of its own does not order, an event does: the operation's queue waits for it.
//
// Memory. The queue of operations takes and returns memory as operations are issued, in its order: a block that one
// operation has read last may be the next one's result, as the device comes to them one after the other. So its peak is
// that of the order of issuing, however far the front end is ahead. The copy queues return theirs when they are
// complete, and touch what they take only after all that the queue of operations has been given so far. What a copy
// still has and nobody holds otherwise is beside the serial level: the oldest operation then waits for the copy, if
// need be.
//
// Calls of launch graphs. The queue of operations may keep back what belongs to one, to give it to the device in one
// piece, and does so when it records an event. So within a call none is recorded that nobody asks for. Kept back is
// issued in every respect: the memory that it returns goes to operations that come to the device after it; who touches
// that memory in another way (a copy, the system that gets it back) asks for an event after all that is issued. A call
// is over when the next operation is not of it, or when its thread has left it and nothing of it is ready any more.
//
// Why a wait ends: what is in flight is completed by the device; the oldest operation of all waits for nothing else.
// What is kept back is in flight, too, so that this thread does not go to sleep. It is given away when the call is
// over; while it is not, as soon as anybody waits, be it for room in the queue, or the process is about to end, and
// there is nothing to issue and nothing else in flight. What came before the call has an event of its own.
class Launcher final : public Stream {
 public:
  Launcher(Engine& engine, Waiters& waiters, DeviceState& device);
  ~Launcher() override;

  // Work.
  bool run_one(Turn& turn) override;

  // Blocks until the device has come to the end of what it was given. By the launch thread, or while nothing is queued.
  void drain();

 private:
  struct InFlight {
    std::uint64_t number;
    DeviceEvent* event = nullptr;  // recorded after it, or null
    bool has_failed = false;
    DeviceTimes::Span times{};
  };
  struct Queue {
    std::unique_ptr<DeviceQueue> queue;
    std::deque<InFlight> in_flight;
    std::uint64_t first_ticket = 0;  // of the first in flight
    int unrecorded = 0;              // of the last ones in flight, without an event after them
    std::byte* scratch = nullptr;    // kept for the next kernel
    std::int64_t scratch_bytes = 0;
  };

  void make_queues();
  bool issue_one();
  void enter(std::shared_ptr<LaunchRegion> region);
  Outcome try_issue(std::uint64_t number);
  void issue(Operation& operation, Failure* cause);
  void launch(Operation& operation, DeviceTimes::Span& times);
  std::int64_t bytes_held(const Place& place) const;
  void wait_for_others(Operation& operation);
  void wait_for_memory(const Operation& operation);
  const DeviceEvent& event_after(Queue& queue, std::uint64_t ticket);
  void record(Queue& queue);
  bool complete_some();
  void complete_first(Queue& queue);
  void give_up(const std::string& message, std::uint64_t number);
  std::string graph_under_way() const;
  void take(const Operation& operation) override;
  void take_scratch(Queue& queue, std::int64_t size_bytes);
  void give_back_scratch(Queue& queue);
  const DeviceState* place_of(std::uint64_t number) const;
  bool is_in_flight() const;
  bool may_keep(const Queue& queue) const { return region_ != nullptr && &queue == &queues_[compute_queue]; }
  bool is_awaited(const Queue& queue) const;

  std::array<Queue, queue_count> queues_;
  std::vector<std::unique_ptr<DeviceEvent>> events_;
  std::vector<DeviceEvent*> free_events_;
  DeviceTimes times_;
  std::shared_ptr<LaunchRegion> region_;  // the call that the last operation was part of; null: none, or it is over
  int issued_ = 0;                        // since it looked for what is complete
  Failure* failure_ = nullptr;            // the device does nothing any more, for this reason
};

}  // namespace asyncgrad::detail
