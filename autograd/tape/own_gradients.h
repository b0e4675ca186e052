// The functions of the program that a tensor alone keeps. For the garbage collector of another language. Internal.
#pragma once

#include <vector>

#include "asyncgrad/autograd/custom.h"

namespace asyncgrad::detail {

// The functions given to with_gradient() in the tensor's history, as far as no other tensor and no other history leads
// to them: those that end with this handle's tensor. Empty for a tensor that has other handles. Computes nothing.
std::vector<const GradientFunction*> own_gradients_below(const Tensor& tensor);

}  // namespace asyncgrad::detail
