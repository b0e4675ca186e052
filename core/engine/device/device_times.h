// Measures when an asynchronous device began and ended operations. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/device.h"

namespace asyncgrad::detail {

// Follows the profiler. While it records, an event before each operation and an event after it take the device's time.
// An event at the beginning, which host and device both see, maps device time to host time. While the profiler is off,
// the class does nothing.
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

  // Called before anything of an operation is issued. At the first operation of a recording it blocks until `clock`, a
  // queue of the device, has run everything.
  void follow_profiler(DeviceQueue& clock);
  // Called before and after an operation is issued to `queue`.
  Span begin(DeviceQueue& queue);
  void end(DeviceQueue& queue, Span& span);
  // Reports to the profiler when a complete operation ran on the device's queue number `queue`.
  void complete(const Span& span, std::uint64_t number, int queue);
  // Destroys the events. While nothing is in flight.
  void clear();

 private:
  void start(DeviceQueue& clock, std::uint32_t recording);
  std::int64_t measure_base();
  DeviceEvent* take_event();

  const Device device_;
  std::uint32_t recording_ = 0;  // the number of the recording that it follows; 0: none
  DeviceQueue* clock_ = nullptr;
  DeviceEvent* base_ = nullptr;  // null: there was no recording, or the device has no clock
  std::int64_t base_ns_ = 0;
  std::vector<std::unique_ptr<DeviceEvent>> events_;
  std::vector<DeviceEvent*> free_;  // of these; not the base
};

}  // namespace asyncgrad::detail
