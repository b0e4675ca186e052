// When an asynchronous device began and ended operations. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/device.h"

namespace asyncgrad::detail {

// Follows the profiler: while it records, one event before each operation and one after it take the device's time.
// What that is in the host's time is told by an event at the beginning, which both see. Else it does and has nothing.
//
// Thread safety: the launch thread calls all functions. Any of them may throw DeviceFailed.
class DeviceTimes {
 public:
  // The span of an operation. It has no events if nothing was recorded when it was issued.
  struct Span {
    DeviceEvent* begin = nullptr;
    DeviceEvent* end = nullptr;  // null: it was not issued after all
    std::int64_t issued_ns = 0;
    std::uint32_t recording = 0;
  };

  explicit DeviceTimes(Device device) : device_(device) {}

  // Before anything of an operation is issued. At the first one of a recording it waits until `clock`, a queue of the
  // device, is at its end.
  void follow_profiler(DeviceQueue& clock);
  // Around what is issued to `queue`.
  Span begin(DeviceQueue& queue);
  void end(DeviceQueue& queue, Span& span);
  // The operation is complete, on the device's `queue`-th queue: the profiler is told when it ran.
  void complete(const Span& span, std::uint64_t number, int queue);
  // Destroys the events. While nothing is in flight.
  void clear();

 private:
  void start(DeviceQueue& clock, std::uint32_t recording);
  std::int64_t measure_base();
  DeviceEvent* take_event();

  const Device device_;
  std::uint32_t recording_ = 0;  // the one that it follows, or none, as profile::recording has it
  DeviceQueue* clock_ = nullptr;
  DeviceEvent* base_ = nullptr;  // null: there was no recording, or the device has no clock
  std::int64_t base_ns_ = 0;
  std::vector<std::unique_ptr<DeviceEvent>> events_;
  std::vector<DeviceEvent*> free_;  // of these; not the base
};

}  // namespace asyncgrad::detail
