// How a case is written: what Python evaluates, and what it has to give. test_cases.py runs them in Python, too: names,
// defaults, values and errors must be the same, bit for bit.
//
// The program prints for each a line with "case" and what Python evaluates, and then what came out here.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace cases {

namespace ag = asyncgrad;
namespace nn = ag::nn;
namespace optim = ag::optim;

std::string hex(const ag::Tensor& x);
std::string hex(double x);
std::string hex(const nn::LSTMState& state);
std::string hex(const nn::RecurrentResult& result);

// The result of the function, or the text of its error. Random numbers begin anew.
void value(const std::string& python, const std::function<std::string()>& result);

// The error of what is refused.
template <class Make>
void refused(const std::string& python, const Make& make) {
  value(python, [&] {
    static_cast<void>(make());
    return std::string("nothing was thrown");
  });
}

// Numbers from -1 on, 0.1 apart.
ag::Tensor input(const ag::Shape& shape);

// A layer's tensors by their paths, and what it computes of its inputs, in training.
template <class Make, class... Inputs>
void layer_with(const std::string& python, const std::string& python_inputs, const Make& make,
                const Inputs&... inputs) {
  value("layer(" + python + ", " + python_inputs + ")", [&] {
    auto made = make();
    std::string text;
    for (const auto& [path, tensor] : nn::state(made)) text += path + " " + hex(tensor) + " ";
    return text + hex(made(inputs...));
  });
}
template <class Make>
void layer_of(const std::string& python, const std::string& python_x, const ag::Tensor& x, const Make& make) {
  layer_with(python, python_x, make, x);
}
template <class Make>
void layer(const std::string& python, const ag::Shape& shape, const Make& make) {
  layer_of(python, "input(" + shape.str() + ")", input(shape), make);
}

// A default in JSON. An activation and an initialiser have their name; empty: Python has None.
template <class T>
requires std::integral<T> std::string json(T number) {
  if constexpr (std::is_same_v<T, bool>) return number ? "true" : "false";
  return std::to_string(number);
}
std::string json(double number);
std::string json(const ag::Size2d& size);
std::string json(const ag::data::Share& share);
std::string json(ag::Activation function);
std::string json(ag::Interpolation mode);
std::string json(nn::Reduction reduction);
std::string json(nn::RnnActivation activation);
std::string json(const nn::Initialiser& initialiser);

struct Default {
  template <class T>
  Default(const char* parameter, const T& value) : name(parameter), text(json(value)) {}
  const char* name;
  std::string text;
};
// The defaults of Python's parameters.
void defaults(const std::string& python, const std::vector<Default>& values);

// The cases of a subject, each in a file of its name.
void activations();
void batches();
void initialisers();
void layers();
void losses();
void operations();
void optimisers();
void sequence_layers();

}  // namespace cases
