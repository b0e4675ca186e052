// The queues of an asynchronous device. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/device/device_times.h"
#include "asyncgrad/core/engine/device/issued.h"
#include "asyncgrad/core/engine/device/queue_scratch.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/ring/ring.h"

namespace asyncgrad::detail {

// The queues, the events that order them, and the times of operations. A queue runs its operations in order. Between
// queues an event orders them: the later operation's queue waits for it.
//
// Calls of launch graphs. The queue of operations may keep back the operations of a call, to give them to the device in
// one piece. It does so when it records an event, so that within a call an event is recorded only on request. An
// operation that is kept back counts as issued: the memory that it returns goes to operations that the device runs
// after it; for any other use of that memory (a copy, or the system that gets it back) an event after everything that
// was issued is requested.
//
// Thread safety: the launch thread calls all functions, or a thread that does so in its place while it does not run.
// All that call the device may throw DeviceFailed.
class DeviceQueues {
 public:
  struct Queue : IssuedQueue {
    QueueScratch scratch;
  };

  explicit DeviceQueues(Device device) : device_(device), times_(device) {}

  // Makes all of them, or throws and makes none.
  void make(const Backend& backend);
  // Destroys queues and events. While nothing is in flight.
  void destroy();

  std::array<Queue, queue_count>& all() { return queues_; }
  const std::array<Queue, queue_count>& all() const { return queues_; }
  Queue& of(const Operation& operation) { return queues_[operation.queue]; }
  Queue& computing() { return queues_[compute_queue]; }
  const Queue& computing() const { return queues_[compute_queue]; }

  // --- Issuing. ---
  // Operations issued from now on belong to a call of `region`, or to none if it is null. Earlier operations must not
  // wait for the end of the call: they get an event, and those that were kept back are given to the device.
  void enter(std::shared_ptr<LaunchRegion> region);
  // True if the last operation was part of a call that its thread has left since.
  bool was_call_left() const;
  // Starts or stops taking times, as the profiler says.
  void follow_profiler() { times_.follow_profiler(computing().device_queue()); }
  // Lets the operation begin after those on other queues that it may follow once they are issued.
  void wait_for_others(const Operation& operation, const Ring& ring);
  // Lets a copy to the device that took memory itself touch it only after everything that was given to the queue of
  // operations so far: operations return their memory when they are issued, and the device may still use it.
  void wait_for_memory(const Operation& operation);
  // Issues the operation's kernel. `times`: its span, for report_times(); begun even if this throws.
  void issue(const Operation& operation, const KernelCall& call, DeviceTimes::Span& times);

  // --- Completing. ---
  // Whether operations of this queue may be kept back at present.
  bool may_keep_back(const Queue& queue) const { return region_ != nullptr && &queue == &computing(); }
  // Records an event after what was issued last.
  void record(Queue& queue);
  // Returns how many of the oldest operations of the queue are complete.
  std::size_t count_complete(Queue& queue) { return queue.count_complete(events_); }
  // Called when the operation at the front of its queue is complete: reports its times to the profiler.
  void report_times(const IssuedQueue::Issued& issued, int queue) {
    times_.complete(issued.times, issued.number, queue);
  }
  bool is_in_flight() const;
  // Blocks until the device has come to the end of what it was given.
  void drain();

  // Called when the device has failed: from now on no event is recorded or awaited.
  void fail() { has_failed_ = true; }

 private:
  const Device device_;
  std::array<Queue, queue_count> queues_;
  Events events_;
  DeviceTimes times_;
  std::shared_ptr<LaunchRegion> region_;  // the call that the last operation was part of; null: none, or it is over
  bool has_failed_ = false;
};

}  // namespace asyncgrad::detail
