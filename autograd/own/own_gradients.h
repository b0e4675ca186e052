// The functions of the program that only this tensor keeps alive. For the garbage collector of another language.
// Internal.
#pragma once

#include <functional>
#include <vector>

#include "asyncgrad/autograd/with_gradient.h"

namespace asyncgrad {

class Node;

namespace detail {

using RecomputedFunction = std::function<Tensor(const Arg& x)>;

// The function that was given to with_gradient(), or to recomputed(), if that call recorded the node and the node still
// keeps it; otherwise null.
const GradientFunction* own_gradient_of(const Node& node);
const RecomputedFunction* recomputed_function_of(const Node& node);

// Each is one of the two.
struct OwnFunction {
  const GradientFunction* gradient = nullptr;
  const RecomputedFunction* recomputed = nullptr;
};

// Those in the tensor's history, as far as no other tensor and no other history leads to them: those that end with this
// handle's tensor. Empty for a tensor that has other handles. Computes nothing.
std::vector<OwnFunction> own_functions_below(const Tensor& tensor);

}  // namespace detail

}  // namespace asyncgrad
