// The simulated slow link of EngineOptions::copy_bytes_per_second. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Copies as the CPU's own kernel does, in one tile, and sleeps for what is left of the time that the link takes.
const Kernel& slow_copy();

}  // namespace asyncgrad::detail
