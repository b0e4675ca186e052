// The executor of an asynchronous device. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "asyncgrad/core/engine/device/device_queues.h"
#include "asyncgrad/core/engine/device/launch_memory.h"
#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// Issues operations to a device's queues (DeviceQueues), and completes them when the device is done with them. One
// thread does both, the only one that calls the device. It polls the queues while something is in flight, and sleeps
// otherwise.
//
// An operation is issued when all those that it waits for are complete, or are issued to this device: the queues order
// these. Its memory is taken at that moment, see LaunchMemory. Within a call of a launch graph no event is recorded
// without need. A call is over when the next operation is not part of it, or when its thread has left it and no
// operation of it is ready any more.
//
// Every wait ends, because the device completes what is in flight, and the oldest operation of all waits for nothing
// else. Operations that are kept back for a graph are in flight, too, so that this thread does not go to sleep. They
// are given to the device when the call is over. Before that, they are given to the device if a thread waits (be it for
// room in the queue) or the process is about to end, while there is nothing to issue and nothing else is in flight.
// Operations before the call have an event of their own.
class Launcher final : public Executor {
 public:
  Launcher(const ExecutorContext& context, DeviceState& device, bool by_arrival);
  ~Launcher() override;

  // Work.
  bool run_one(Turn& turn) override;

 private:
  using Queue = DeviceQueues::Queue;

  // Issuing.
  bool issue_one();
  Outcome try_issue(std::uint64_t number);
  Failure* cause_of(const Operation& operation, Failure*& shared) const;
  void issue(Operation& operation, Failure* cause);
  void launch(Operation& operation, DeviceTimes::Span& times);
  void leave_order(Operation& operation);
  void take(const Operation& operation) override;

  // Completing.
  bool is_awaited(const Queue& queue) const;
  bool complete_some();
  void complete_first(Queue& queue);
  void give_up(const std::string& message, std::uint64_t number);
  std::string graph_under_way() const;
  std::string under_way(std::uint64_t number) const;

  DeviceQueues queues_;
  LaunchMemory memory_;
  int issued_ = 0;              // since it looked for what is complete
  Failure* failure_ = nullptr;  // the device does nothing any more, for this reason
};

}  // namespace asyncgrad::detail
