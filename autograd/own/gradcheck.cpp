#include "asyncgrad/autograd/gradcheck.h"

#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/gradients.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;
constexpr const char* operation = "gradcheck";

// The sum of the elements, each with a weight of its own, so that errors do not cancel.
Tensor weighted_sum(const Tensor& y) {
  const Tensor weights = sin(arange(1, 1 + y.numel(), 1, {.dtype = float64, .device = y.device()}));
  return sum(y.reshape({y.numel()}).to(float64) * weights);
}

Tensors leaves_of(const Tensors& inputs) {
  Tensors leaves;
  for (const Tensor& input : inputs) leaves.push_back(parameter(input.detach().clone()));
  return leaves;
}

// Gradients in all inputs; undefined for one on which the result does not depend.
Tensors gradients_of(const Tensor& y, const Tensors& leaves, bool create_graph) {
  return grad({weighted_sum(y)}, leaves, {}, {.create_graph = create_graph, .allow_unused = true});
}

// The function whose gradients are those of the second order.
Tensor sum_of_gradients(const Function& function, const Tensors& inputs) {
  Tensor total = zeros({}, {.dtype = float64});
  for (const Tensor& gradient : gradients_of(function(inputs), inputs, true)) {
    if (gradient.defined()) total = total + weighted_sum(gradient).to("cpu");
  }
  return total;
}

// An element of an input, moved up and down: (f(x + step) - f(x - step)) / (2 step).
double difference(const Function& function, const Tensors& inputs, std::size_t input, std::int64_t element,
                  double step) {
  const auto moved = [&](double distance) {
    Tensors at = leaves_of(inputs);  // a function of the second order needs leaves
    const Tensor flat = at[input].detach().reshape({at[input].numel()});
    Tensor one = flat.slice(element, element + 1);
    one += distance;
    return weighted_sum(function(at)).item();
  };
  return (moved(step) - moved(-step)) / (2 * step);
}

void check(const Function& function, const Tensors& inputs, const GradcheckOptions& options, int order) {
  const Tensors leaves = leaves_of(inputs);
  const Tensor y = function(leaves);
  // The gradients of a linear function depend on nothing.
  const bool is_constant = order == 2 && !y.requires_grad();
  const Tensors gradients = is_constant ? Tensors(inputs.size()) : gradients_of(y, leaves, false);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    const auto count = static_cast<std::size_t>(inputs[input].numel());
    const std::vector<double> found =
        gradients[input].defined() ? gradients[input].to_vector<double>() : std::vector<double>(count, 0);
    for (std::size_t element = 0; element < count; ++element) {
      const double wanted = difference(function, inputs, input, static_cast<std::int64_t>(element), options.step);
      if (std::abs(found[element] - wanted) <= options.tolerance * (1 + std::abs(wanted))) continue;
      throw_error(operation,
                  fmt::format("the gradient of order {} in element {} of input {} {} is {}, and the difference {}",
                              order, element, input, inputs[input].shape().str(), found[element], wanted));
    }
  }
}

}  // namespace

void gradcheck(const Function& function, const Tensors& inputs, const GradcheckOptions& options, Location where) {
  const CallSite site(where);
  if (options.order != 1 && options.order != 2) {
    throw_error(operation, fmt::format("order must be 1 or 2, got {}", options.order));
  }
  if (!(options.step > 0) || !(options.tolerance > 0)) {
    throw_error(operation,
                fmt::format("step and tolerance must be positive, got {} and {}", options.step, options.tolerance));
  }
  for (const Tensor& input : inputs) {
    if (input.dtype() == float64) continue;
    throw_error(operation,
                fmt::format("needs inputs of float64, as differences are too coarse in {}: {}; convert them by "
                            ".to(ag::float64)",
                            name(input.dtype()), input.shape().str()),
                ErrorKind::type);
  }
  const EnableGrad recording;
  check(function, inputs, options, 1);
  if (options.order == 1) return;
  check([&](const Tensors& at) { return sum_of_gradients(function, at); }, inputs, options, 2);
}

}  // namespace asyncgrad
