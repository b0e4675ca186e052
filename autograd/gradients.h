// Gradients of several tensors at once, and as values. Tensor::backward() is the short form for one tensor.
//
// All queue the computation and may wait for room in the queue. `ys` are one tensor or several with a history, `dys`
// their gradients: one for each, of its shape, type and device, or none at all. Tensor{} stands for a gradient of one,
// which a tensor of one element alone may have. They throw Error at the call, before anything is queued, for gradients
// that do not fit, for a tensor without a history, and for a part of the tape that an earlier call has dropped.
#pragma once

#include <vector>

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct BackwardOptions {
  bool retain_graph = false;  // keeps the tape for another call
};

// Adds the gradients of sum_i sum(ys[i] * dys[i]) to grad() of all leaves on which the tensors depend.
void backward(TensorList ys, TensorList dys = {}, BackwardOptions options = {}, Location where = Location::current());

struct GradOptions {
  bool retain_graph = false;  // keeps the tape for another call
  // The gradients have a history themselves, so that they may be a part of a loss, or have gradients; keeps the tape.
  bool create_graph = false;
  bool allow_unused = false;  // Tensor{} for an input on which no y depends, in place of an Error
};

// The gradients of sum_i sum(ys[i] * dys[i]) in `inputs`, in their order: leaves, or results of operations. grad() of
// leaves and what retain_grad() keeps stay as they are. Nothing is computed that leads to no input. Also throws Error
// for an input without a history and, with create_graph, for an operation whose gradient has no gradient: one made by
// with_gradient() without GradientOrder::any.
//
//   ag::Tensor gradient = ag::grad(ag::sum(net(x)), {x}, {}, {.create_graph = true})[0];
//   ag::Tensor loss = ag::mean(ag::square(ag::norm(gradient, 1) - 1));  // a gradient penalty
//   loss.backward();
std::vector<Tensor> grad(TensorList ys, TensorList inputs, TensorList dys = {}, GradOptions options = {},
                         Location where = Location::current());

}  // namespace asyncgrad
