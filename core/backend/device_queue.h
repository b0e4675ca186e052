// The interface of an asynchronous device's backend. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/origin/launch_region.h"

namespace asyncgrad::detail {

// The device has failed and does nothing more: operations in flight and later ones get no value.
class DeviceFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A place in the order of one queue, which another queue or the launch thread may wait for. An event is recorded many
// times.
//
// Events and queues are made and destroyed by the launch thread, or by a thread that does nothing else. So they may
// change the state of that thread, such as its current device.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

// A queue of a device that runs on its own what is issued to it, one after another, after the calls have returned.
//
// Thread safety: the device's launch thread calls all functions, of all queues of the device. Any of them may throw
// DeviceFailed.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Issues an operation. Operands, attributes and storages live during the call, the memory until the queue has run the
  // operation. `name`, which is never freed, appears in profiles. Throws Error, with nothing issued, if this operation
  // cannot be issued.
  virtual void issue(const char* name, const Kernel& kernel, const KernelCall& call) = 0;

  virtual std::unique_ptr<DeviceEvent> make_event() = 0;
  // Operations issued from now on are one call of the graph, or of none if it is null. The queue may keep back the
  // operations of a graph, to give them to the device in one piece when this or record() is called. An operation that
  // is kept back counts as issued: if it cannot be launched later, the device has failed.
  virtual void set_graph(std::shared_ptr<LaunchGraphState>) {}  // NOLINT(performance-unnecessary-value-param)
  // The event is complete when everything that was issued so far is complete.
  virtual void record(DeviceEvent& event) = 0;
  // Operations issued from now on begin after the event, which was recorded on another queue of the device. Operations
  // that are kept back may begin after it, too.
  virtual void wait_for(const DeviceEvent& event) = 0;
  // The same for everything that touches the device's memory. The host's part of a copy to the device need not wait.
  virtual void wait_for_memory(const DeviceEvent& event) { wait_for(event); }
  virtual bool is_complete(const DeviceEvent& event) = 0;

  // Makes an event that takes the time when a queue comes to it, for profiles. Null if the device has no clock.
  virtual std::unique_ptr<DeviceEvent> make_timed_event() { return nullptr; }
  // Nanoseconds from one such event to a later one, both complete, recorded on any queues of the device.
  virtual std::int64_t ns_between(const DeviceEvent& /*from*/, const DeviceEvent& /*to*/) { return 0; }
};

inline constexpr int max_devices_of_a_type = 16;

// The queues of a device, in this order: for operations; for copies to the device; for copies from it.
inline constexpr int queue_count = 3;
inline constexpr int compute_queue = 0, copy_in_queue = 1, copy_out_queue = 2;
inline constexpr const char* queue_names[queue_count] = {"compute", "copies in", "copies out"};

}  // namespace asyncgrad::detail
