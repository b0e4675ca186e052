// What the optimisers share: checks of their options, and the making of their state. Internal.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::optim {

// Throws Error in the name of `optimiser` unless `value` is finite and not negative. `what` names it in the message.
void check_not_negative(const char* optimiser, const char* what, double value);

// For each parameter zeros of its shape and type, on its device. Queues them; may wait for room.
std::vector<Tensor> zeros_like(const std::vector<Tensor>& parameters, Location where);

}  // namespace asyncgrad::optim
