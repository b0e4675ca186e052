#include "asyncgrad/nn/activation.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

namespace {

Tensor softmax_of_rows(const Arg& x) { return softmax(x); }

std::vector<NamedActivation> make_all() {
  std::vector<NamedActivation> all;
  for (const ElementwiseFunction& row : elementwise_functions()) {
    if (row.is_differentiable) all.push_back({row.name, row.function});
  }
  all.push_back({"softmax", softmax_of_rows});
  return all;
}

}  // namespace

std::span<const NamedActivation> named_activations() {
  static const std::vector<NamedActivation> all = make_all();
  return all;
}

Activation activation_named(const char* operation, std::string_view name) {
  std::string known;
  for (const NamedActivation& row : named_activations()) {
    if (name == row.name) return row.function;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw_error(operation, fmt::format("activation must be one of {}, got {}", known, name));
}

}  // namespace asyncgrad::nn
