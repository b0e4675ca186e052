// Functions that are computed twice, so that nothing but their input is kept for the gradient.
#pragma once

#include <functional>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Computes function(x), but the tape keeps only x and the result, nothing in between. backward() computes the function
// once more, and takes the gradients from that. Values and gradients have the same bits as those of function(x): the
// second time the function gets the same random numbers without moving a generator, is_training() and math_mode()
// return what they did the first time, and is_recomputing() is true. All tensors with a history that the function reads
// get their gradients: x, parameters, and what it captures.
//
// It computes and queues what function(x) does, and throws what that throws. It throws Error for a null function, and
// if the function writes x or another tensor with a history in place, or gives Tensor{}. backward() throws Error if x
// or another tensor that was read has been written in place since, one that the function writes itself aside, and if the
// function computes something else the second time. The tape keeps the function, all that it captures and the tensors
// from before that it read until then: a function that captures its own result keeps itself.
Tensor recomputed(std::function<Tensor(const Arg& x)> function, const Arg& x);

}  // namespace asyncgrad
