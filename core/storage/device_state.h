// All that the engine keeps for one device. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/engine/admission.h"
#include "asyncgrad/core/kernels.h"
#include "asyncgrad/core/storage/allocator.h"
#include "asyncgrad/core/storage/holders.h"
#include "asyncgrad/core/storage/serial_live.h"

namespace asyncgrad::detail {

struct DeviceState {
  // Constant, but for the making of the ring.
  Device device;
  const Backend* backend = nullptr;
  std::unique_ptr<Admission> admission;  // made anew with the ring of operations

  // Front ends'.
  SerialLive serial_live;
  std::int64_t serial_since_queued =
      0;  // under their lock: the largest serial_live since the last operation was queued
  // Bytes of storages that had unfinished uses when their last handle went, and of those whose last use has ended
  // since. Figures, written by front ends and by workers.
  std::atomic<std::int64_t> waiting_begun{0};
  alignas(128) std::atomic<std::int64_t> waiting_ended{0};
  std::atomic<std::int64_t> workspace{0};  // bytes of all threads' scratch. A figure

  alignas(128) Allocator allocator;
  Holders holders;
};

// The devices that are in use. Never destroyed: tensors with static lifetime may outlive everything.
class Devices {
 public:
  static constexpr int most_of_a_type = 16;

  // The state of a device. Throws Error if the library or the machine has no such device.
  static DeviceState& get(Device device) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index < most_of_a_type) {
      // Acquire: the state is seen whole.
      if (DeviceState* state = table[static_cast<std::size_t>(device.type)][index].load(std::memory_order_acquire)) {
        return *state;
      }
    }
    return make(device);
  }

 private:
  static DeviceState& make(Device device);

  static inline constinit std::array<std::array<std::atomic<DeviceState*>, most_of_a_type>, 2> table{};
};

inline DeviceState& device_state(Device device) { return Devices::get(device); }

}  // namespace asyncgrad::detail
