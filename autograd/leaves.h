// Which tensors are leaves of a computation, and which are parameters.
#pragma once

#include <string>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The leaves whose gradients y.backward() would compute and that are not among `known`: one line of text for each, with
// its shape and its first use, as "(3, 4), used by matmul, queued at train.cpp:12, in layer 0.body". They come in the
// order of their first uses. If `known` are an optimiser's parameters, these are the leaves that it does not train; see
// Optimizer::missing. Does not block. Throws Error if a backward() has dropped the tape.
std::vector<std::string> missing_leaves(const Tensor& y, const std::vector<Tensor>& known);

// Whether the gradient of x is wanted, or was before requires_grad_(false) froze it. Throws Error for Tensor{}.
bool is_parameter(const Tensor& x);
// Makes a copy of x a parameter if x is one, and frozen if x is. Throws as Tensor::requires_grad_ does.
void require_as(const Tensor& x, Tensor& copy);

}  // namespace asyncgrad
