// Activations by name, for programs that read them from a file or take them from another language.
#pragma once

#include <span>
#include <string_view>

#include "asyncgrad/autograd/matmul.h"

namespace asyncgrad::nn {

struct NamedActivation {
  const char* name;  // of the function in the namespace asyncgrad
  Activation function;
};

// All of them: the differentiable functions of one tensor in autograd/elementwise.h, and softmax over the last axis.
std::span<const NamedActivation> named_activations();

// The activation of this name. Throws Error, naming `operation`, if there is none.
Activation activation_named(const char* operation, std::string_view name);

}  // namespace asyncgrad::nn
