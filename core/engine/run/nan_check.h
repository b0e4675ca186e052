// Checks whether an operation has made a NaN. Internal.
#pragma once

#include "asyncgrad/core/engine/ring/operation.h"

namespace asyncgrad::detail {

// Whether operations that the calling thread queues are to be checked, see DetectNan.
struct NanChecks {
  static inline constinit thread_local bool are_on = false;  // NOLINT(readability-identifier-naming): a member
};

// Throws Error if there is a NaN in what the operation has written. All of it is written, and its operands are held.
void check_nan(const Invocation& invocation);

}  // namespace asyncgrad::detail
