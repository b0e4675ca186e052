// Where an operation runs. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/schedule/executor.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

struct Route {
  const Kernel& kernel;
  Executor& executor;
};
// A copy between two devices runs on the one that it writes, but on one that has queues of its own if only the other
// has; every other operation runs where its operands are. Throws Error if the device has no kernel for it, or is not in
// use any more.
Route route_of(const Submission& submission);

}  // namespace asyncgrad::detail
