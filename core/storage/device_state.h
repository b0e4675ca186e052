// All that the engine keeps for one device. Internal.
#pragma once

#include <atomic>
#include <cstdint>

#include "asyncgrad/core/engine/admission.h"
#include "asyncgrad/core/kernels.h"
#include "asyncgrad/core/storage/allocator.h"

namespace asyncgrad::detail {

struct DeviceState {
  Device device;
  const Backend* backend = nullptr;
  Allocator allocator;
  std::unique_ptr<Admission> admission;  // made anew with the ring of operations

  // Bytes of storages with a handle. Relaxed: a front end's own changes are in order, and only it needs them to be.
  alignas(128) std::atomic<std::int64_t> serial_live{0};
  // Bytes of storages without a handle that unfinished operations still use. A figure.
  std::atomic<std::int64_t> waiting{0};
  std::atomic<std::int64_t> workspace{0};  // bytes of all threads' scratch. A figure

  // Under the front end's lock: the largest serial_live since the last operation was queued.
  std::int64_t serial_since_queued = 0;
};

// The state of a device. Throws Error if the library or the machine has no such device.
DeviceState& device_state(Device device);

}  // namespace asyncgrad::detail
