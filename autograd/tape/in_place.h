// The rules of writing in place. Internal.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Throws Error if the tape does not allow `operation` to write `target` from `source`, which is Tensor{} for a number.
void check_writable(const char* operation, const Tensor& target, const Tensor& source);

// Call this after a recorded operation has written `target` in place. Views of it are stale from then on.
void note_history(const Tensor& target);

// The source itself, or a copy without history if it overlaps the target, so that writing the target would change it.
Tensor without_overlap(const Tensor& target, const Tensor& source, Location where);

}  // namespace asyncgrad::detail
