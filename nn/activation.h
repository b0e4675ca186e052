// Activations by name, for programs that read them from a file or take them from another language; and what layers
// refuse in their place.
#pragma once

#include <concepts>
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

// What is passed to a layer in place of an activation, but is none, such as a whole table of them.
template <class T, class Options>
concept NoActivation = !std::convertible_to<T, Activation> && !std::convertible_to<T, Options> && !std::integral<T>;

namespace activation_detail {

// Does not compile: a layer's constructor for NoActivation calls it.
template <class T>
constexpr void refuse() {
  static_assert(std::convertible_to<T, Activation>,
                "an activation is one function of a tensor: ag::relu, table[i] of a std::vector<ag::Activation>, or a "
                "lambda without captures; any other callable is a layer of its own, ag::nn::Function(f)");
}

}  // namespace activation_detail

}  // namespace asyncgrad::nn
