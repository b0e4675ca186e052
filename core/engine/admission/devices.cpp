#include "asyncgrad/core/engine/admission/devices.h"

#include <map>
#include <memory>
#include <tuple>

#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

namespace {

using Key = std::tuple<DeviceType, int, const Backend*>;
Mutex states_mutex;
std::map<Key, DeviceState*>* states ASYNCGRAD_GUARDED_BY(states_mutex) = nullptr;

}  // namespace

DeviceState& Devices::make_state(Device device, const Backend& backend, PoisonedValues& poisoned) {
  const MutexLock lock(states_mutex);
  if (states == nullptr) states = new std::map<Key, DeviceState*>;
  DeviceState*& state = (*states)[{device.type, device.index, &backend}];
  if (state == nullptr) {
    state = new DeviceState(device, backend, poisoned);
    state->allocator.hold_at_fork();
    state->holders.hold_at_fork();
  }
  return *state;
}

std::vector<DeviceState*> Devices::all() {
  std::vector<DeviceState*> found;
  for (const auto& of_type : table) {
    for (const std::atomic<DeviceState*>& place : of_type) {
      if (DeviceState* const state = place.load(std::memory_order_acquire)) found.push_back(state);
    }
  }
  return found;
}

void Devices::remove(DeviceState& state) {
  for (auto* executor : {&state.executor, &state.copies, &state.sources, &state.collectives}) {
    executor->store(nullptr, std::memory_order_relaxed);
  }
  // Tensors can always be made on the first device.
  if (state.device != Device()) place_of(state.device).store(nullptr, std::memory_order_release);
}

}  // namespace asyncgrad::detail
