// The executor of an asynchronous device. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/device/device_times.h"
#include "asyncgrad/core/engine/device/issued.h"
#include "asyncgrad/core/engine/device/queue_scratch.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// Issues operations to a device's queues, and completes them when the device is done with them. One thread does both,
// the only one that calls the device; it looks at the queues while something is in flight, and sleeps otherwise.
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
// issued in every respect: the memory that it returns goes to operations that come to the device after it; another use
// of that memory (a copy, the system that gets it back) asks for an event after all that is issued. A call is over when
// the next operation is not of it, or when its thread has left it and nothing of it is ready any more.
//
// Why a wait ends: what is in flight is completed by the device; the oldest operation of all waits for nothing else.
// What is kept back is in flight, too, so that this thread does not go to sleep. It is given away when the call is
// over; while it is not, as soon as anybody waits, be it for room in the queue, or the process is about to end, and
// there is nothing to issue and nothing else in flight. What came before the call has an event of its own.
class Launcher final : public Executor {
 public:
  Launcher(const ExecutorContext& context, DeviceState& device, bool by_arrival);
  ~Launcher() override;

  // Work.
  bool run_one(Turn& turn) override;

 private:
  struct Queue : IssuedQueue {
    QueueScratch scratch;
  };
  Queue& queue_of(const Operation& operation) { return queues_[operation.queue]; }
  Queue& computing() { return queues_[compute_queue]; }

  void make_queues();
  bool issue_one();
  Outcome try_issue(std::uint64_t number);
  Failure* cause_of(const Operation& operation, Failure*& shared) const;
  void issue(Operation& operation, Failure* cause);
  void leave_order(Operation& operation);
  void enter(std::shared_ptr<LaunchRegion> region);
  void launch(Operation& operation, DeviceTimes::Span& times);
  void wait_for_others(Operation& operation);
  void wait_for_memory(const Operation& operation);
  void record(Queue& queue);
  bool complete_some();
  void complete_first(Queue& queue);
  void give_up(const std::string& message, std::uint64_t number);
  std::string graph_under_way() const;
  // Blocks until the device has come to the end of what it was given. By the launch thread, or while nothing is queued.
  void drain();
  void take(const Operation& operation) override;
  void give_back_scratch(Queue& queue);
  std::int64_t bytes_held(const Place& place) const;
  bool is_in_flight() const;
  bool may_keep(const Queue& queue) const { return region_ != nullptr && &queue == &queues_[compute_queue]; }
  bool is_awaited(const Queue& queue) const;

  std::array<Queue, queue_count> queues_;
  Events events_;
  DeviceTimes times_;
  std::shared_ptr<LaunchRegion> region_;  // the call that the last operation was part of; null: none, or it is over
  int issued_ = 0;                        // since it looked for what is complete
  Failure* failure_ = nullptr;            // the device does nothing any more, for this reason
};

}  // namespace asyncgrad::detail
