// The devices that are in use. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/schedule/device_state.h"

namespace asyncgrad::detail {

// The devices that are in use. Never destroyed: tensors with static lifetime may outlive everything.
class Devices {
 public:
  static constexpr int types = 2, most_of_a_type = most_devices_of_a_type;

  // The state of a device. Throws Error if the library or the machine has no such device.
  static DeviceState& get(Device device) {
    const auto index = static_cast<std::uint8_t>(device.index);
    if (static_cast<std::size_t>(device.type) < types && index < most_of_a_type) {
      // Acquire: the state is seen whole.
      if (DeviceState* state = table[static_cast<std::size_t>(device.type)][index].load(std::memory_order_acquire)) {
        return *state;
      }
    }
    return make(device);
  }

  // The state of a device that may come into use; as it was, if it has been before.
  static DeviceState& make_state(Device device, const Backend& backend);
  // It is in use from here on.
  static void add(DeviceState& state) { place_of(state.device).store(&state, std::memory_order_release); }
  // It is not in use any more. Its state stays, for what is still on it.
  static void remove(DeviceState& device);

 private:
  static DeviceState& make(Device device);
  static std::atomic<DeviceState*>& place_of(Device device) {
    return table[static_cast<std::size_t>(device.type)][static_cast<std::size_t>(device.index)];
  }

  static inline constinit std::array<std::array<std::atomic<DeviceState*>, most_of_a_type>, types> table{};
};

inline DeviceState& device_state(Device device) { return Devices::get(device); }

}  // namespace asyncgrad::detail
