// Runs an operation on a fake device when the device comes to it.
#pragma once

#include <functional>
#include <memory>

#include "asyncgrad/core/backend/late_call.h"

namespace asyncgrad::tests {

// Runs all tiles of the call later, when the operation's record may be gone.
inline std::function<void()> late_run(const detail::Kernel& kernel, const detail::KernelCall& call) {
  return [late = std::make_shared<detail::LateCall>(kernel, call)] {
    const detail::KernelCall kept = late->call();
    const int tiles = late->kernel().tiles == nullptr ? 1 : late->kernel().tiles(kept);
    for (int tile = 0; tile < tiles; ++tile) late->kernel().run(kept, tile);
  };
}

}  // namespace asyncgrad::tests
