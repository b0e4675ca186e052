// The rules of writing in place. Internal.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Throws Error if the tape forbids that `operation` writes `target` from `source` (Tensor{}: from a number).
void check_writable(const char* operation, const Tensor& target, const Tensor& source);

// The source itself, or a copy without history if writing the target would change it on the way.
Tensor without_overlap(const Tensor& target, const Tensor& source, Location where);

}  // namespace asyncgrad::detail
