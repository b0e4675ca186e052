// Averages gradients, for average_gradients() and Parts. Internal.
#pragma once

#include <exception>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/dist/queue_collectives.h"
#include "asyncgrad/dist/world.h"
#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::dist {

// Throws Error in the name of `name`, a call, for a tensor that is not where the world's collectives are.
void check_device(const char* name, const detail::TensorImpl& impl, const World& world);

// In a world of several ranks, replaces the gradients of the parameters by their sums over all ranks, divided by
// `divisor`, as average_gradients() says. `terms`: of each parameter's gradient, as for queue_move(). Returns as
// queue_move() does. An exception may come when a part of the operations is queued, or, on a rank that lacks a gradient,
// when the caller's gate has closed.
std::exception_ptr queue_average(const Caller& caller, std::vector<Tensor> parameters, int divisor, const World& world,
                                 const Location& where, Terms terms = {});

}  // namespace asyncgrad::dist
