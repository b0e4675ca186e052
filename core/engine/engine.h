// The engine behind core/engine.h. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/storage/storage.h"

namespace asyncgrad::detail {

class Engine {
 public:
  static Engine& get();
  void submit(Op op, std::span<const OperandRef> operands, const void* attributes, std::size_t size_bytes, Location where);
  void wait(Storage& storage);
  void hand_over(Storage& storage, const void* values, std::size_t size_bytes, Location where);
};

DeviceState& device_state(Device device);

}  // namespace asyncgrad::detail
