// The memory that an asynchronous device needs beside its operations' results. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/engine/device/device_queues.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/ring/ring.h"

namespace asyncgrad::detail {

// Scratch memory, and what copies hold.
//
// The queue of operations takes and returns memory as operations are issued, in its order: a block that one operation
// has read last may be the next one's result, because the device runs them one after the other. So the device's peak
// follows from the order of issuing, however far the front end is ahead. The copy queues return their memory when
// copies are complete, and touch what they take only after all that the queue of operations was given so far. A copy
// may hold memory that has no handle and that no serial level counts: if necessary, the oldest operation then waits for
// the copy.
//
// Thread safety: the launch thread calls all functions. They may throw DeviceFailed.
class LaunchMemory {
 public:
  using Queue = DeviceQueues::Queue;

  LaunchMemory(DeviceState& device, DeviceQueues& queues, const Ring& ring)
      : device_(device), queues_(queues), ring_(ring) {}

  // Makes the scratch memory of a queue at least this large. After std::bad_alloc the queue has none.
  void grow_scratch(Queue& queue, std::int64_t size_bytes);
  void give_back_scratch(Queue& queue);
  // The bytes that copies hold, or will hold, and that the device's serial levels up to this place do not count.
  std::int64_t bytes_held(const Place& place) const;

 private:
  DeviceState& device_;
  DeviceQueues& queues_;
  const Ring& ring_;
};

}  // namespace asyncgrad::detail
