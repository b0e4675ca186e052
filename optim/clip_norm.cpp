#include "asyncgrad/optim/clip_norm.h"

#include <unordered_set>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

namespace {

// The gradients, each once, even if a parameter is in the list twice.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters, Location where) {
  std::vector<Tensor> gradients;
  std::unordered_set<const detail::TensorImpl*> seen;
  for (const Tensor& parameter : parameters) {
    const Tensor gradient = detail::gradient_values(parameter, where);
    if (gradient.defined() && seen.insert(gradient.impl()).second) gradients.push_back(gradient);
  }
  return gradients;
}

Tensor norm_of(const std::vector<Tensor>& gradients, Location where) {
  if (gradients.empty()) return zeros({}, {.dtype = float64}, where);
  const Device device = gradients.front().device();
  Tensor squares;
  for (const Tensor& gradient : gradients) {
    const Tensor square_sum = sum(Arg(square(Arg(gradient, where)), where)).to(float64, where).to(device, where);
    squares = squares.defined() ? Arg(squares, where) + Arg(square_sum, where) : square_sum;
  }
  return sqrt(Arg(squares, where));
}

}  // namespace

Tensor clip_norm(const std::vector<Tensor>& parameters, double max_norm, Location where) {
  const CallSite site(where);
  check_not_negative("clip_norm", "max_norm", max_norm);
  const NoGrad no_grad;
  const std::vector<Tensor> gradients = gradients_of(parameters, where);
  Tensor norm = norm_of(gradients, where);
  const Tensor scale = minimum(Arg(max_norm / Arg(Arg(norm, where) + 1e-6, where), where), 1);
  for (Tensor gradient : gradients) {
    const Tensor here = scale.to(gradient.device(), where).to(gradient.dtype(), where);
    gradient *= Arg(here, where);
  }
  return norm;
}

}  // namespace asyncgrad::optim
