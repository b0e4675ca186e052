// The devices that are in use. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/admission/device_state.h"

namespace asyncgrad::detail {

// The table of the devices that are in use. Any thread may call any function.
class Devices {
 public:
  static constexpr int types = 2, max_of_a_type = max_devices_of_a_type;

  // Null if the device is not in use or does not exist.
  static DeviceState* find(Device device) {
    const auto type = static_cast<std::size_t>(device.type);
    const auto index = static_cast<std::uint8_t>(device.index);
    if (type >= types || index >= max_of_a_type) return nullptr;
    return table[type][index].load(std::memory_order_acquire);  // acquire: the state is seen whole
  }
  // All that are in use.
  static std::vector<DeviceState*> all();
  // Makes the state of a device that is about to come into use, or returns the one that it had before. It is never
  // destroyed, because tensors with static lifetime may outlive everything.
  static DeviceState& make_state(Device device, const Backend& backend, PoisonedValues& poisoned);
  // Puts the device into use.
  static void add(DeviceState& state) { place_of(state.device).store(&state, std::memory_order_release); }
  // Takes the device out of use. Its state stays for tensors that are still on it.
  static void remove(DeviceState& state);

 private:
  static std::atomic<DeviceState*>& place_of(Device device) {
    return table[static_cast<std::size_t>(device.type)][static_cast<std::size_t>(device.index)];
  }

  static inline constinit std::array<std::array<std::atomic<DeviceState*>, max_of_a_type>, types> table{};
};

}  // namespace asyncgrad::detail
