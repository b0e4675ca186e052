// The engine's options: what the environment says, and what makes sense. Internal.
#pragma once

#include "asyncgrad/core/engine.h"

namespace asyncgrad::detail {

int core_count();

// The options that the process begins with: ASYNCGRAD_WORKERS and ASYNCGRAD_SCHEDULE have a say. Throws Error if they
// make no sense.
EngineOptions options_from_environment();

// Returns the options with the number of workers filled in. Throws Error for options that make no sense.
EngineOptions checked(const EngineOptions& options);

}  // namespace asyncgrad::detail
