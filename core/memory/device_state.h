// All that the engine keeps for one device. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/schedule/admission.h"
#include "asyncgrad/core/engine/schedule/device_order.h"
#include "asyncgrad/core/memory/allocator.h"
#include "asyncgrad/core/memory/holders.h"
#include "asyncgrad/core/memory/sharded_count.h"

namespace asyncgrad::detail {

class Stream;
struct Failure;

struct DeviceState {
  DeviceState(Device device, const Backend& backend)
      : device(device),
        backend(&backend),
        is_asynchronous(backend.make_queue != nullptr),
        allocator(backend.memory == nullptr ? host_memory() : backend.memory(device)) {}
  // Constant, but while the engine is set up, which is while nothing is queued.
  Device device;
  const Backend* backend = nullptr;
  const bool is_asynchronous;  // what is issued to it is complete later
  Stream* stream = nullptr;    // of its operations; null: the device is not in use
  Stream* copies = nullptr;    // of copies that it writes or, of a device with queues of its own, that it takes part in
  std::unique_ptr<Admission> admission;
  std::unique_ptr<DeviceOrder> order;                  // null as long as there is no other device
  const std::atomic<std::uint64_t>* oldest = nullptr;  // f in the order that `admission` goes by

  ShardedCount serial_live;  // bytes of storages with a handle: what would be live if everything ran at its call
  ShardedCount waiting;      // bytes of storages without a handle that have unfinished uses. A figure
  // Why the device does nothing any more; null as long as it does. Release, acquire: the message.
  std::atomic<Failure*> failure{nullptr};

  // Under the front end's lock: the largest serial_live since the last operation was queued.
  alignas(128) std::int64_t serial_since_queued = 0;
  std::atomic<std::int64_t> workspace{0};  // bytes of all threads' scratch. A figure
  // Bytes here of the operands of copies that are queued and not complete, of an asynchronous device.
  std::atomic<std::int64_t> copied_bytes{0};

  alignas(128) Allocator allocator;
  Holders holders;
};

// The devices that are in use. Never destroyed: tensors with static lifetime may outlive everything.
class Devices {
 public:
  static constexpr int types = 2, most_of_a_type = 16;

  // The state of a device. Throws Error if the library or the machine has no such device.
  static DeviceState& get(Device device) {
    const auto index = static_cast<std::uint8_t>(device.index);
    if (index < most_of_a_type) {
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
