// The rules of writing in place. Internal.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Throws Error if the tape forbids that `operation` writes `target` from `source` (Tensor{}: from a number).
void check_writable(const char* operation, const Tensor& target, const Tensor& source);

// To be called once `target` has been written in place by a recorded operation: views of it are stale.
void note_history(const Tensor& target);

// The source itself, or a copy without history if writing the target would change it on the way.
Tensor without_overlap(const Tensor& target, const Tensor& source, Location where);

}  // namespace asyncgrad::detail
