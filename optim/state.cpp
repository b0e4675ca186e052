#include "asyncgrad/optim/state.h"

#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::optim {

void check_not_negative(const char* optimiser, const char* what, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw_error(optimiser, fmt::format("{} must be finite and not negative, got {}", what, value));
  }
}

std::vector<Tensor> zeros_like(const std::vector<Tensor>& parameters, Location where) {
  std::vector<Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const Tensor& parameter : parameters) {
    tensors.push_back(zeros(parameter.shape(), {.dtype = parameter.dtype(), .device = parameter.device()}, where));
  }
  return tensors;
}

}  // namespace asyncgrad::optim
