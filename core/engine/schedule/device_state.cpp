#include "asyncgrad/core/engine/schedule/device_state.h"

#include "asyncgrad/core/engine/engine.h"

namespace asyncgrad::detail {

void DeviceState::cure(Storage& storage) noexcept { Engine::get().failures().cure(storage); }

}  // namespace asyncgrad::detail
