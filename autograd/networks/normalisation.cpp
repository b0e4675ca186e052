#include "asyncgrad/autograd/networks/normalisation.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

void check_of_channels(const char* operation, NamedOperand x, const char* name, const Tensor& tensor) {
  const NamedOperand operand{name, checked_operand(tensor, operation)};
  check_alike(operation, {x, operand});
  if (operand.impl.shape == Shape{x.impl.shape[1]}) return;
  throw_error(operation, fmt::format("{} must have an element for each channel, ({}): x {}, {} {}", name,
                                     x.impl.shape[1], x.impl.shape.str(), name, operand.impl.shape.str()));
}

void check_channels(const char* operation, NamedOperand x, const Tensor& weight, const Tensor& bias) {
  const Shape& shape = x.impl.shape;
  if (shape.rank() < 2) throw_error(operation, fmt::format("needs x (N, C) or (N, C, …), got {}", shape.str()));
  if (weight.defined()) check_of_channels(operation, x, "weight", weight);
  if (bias.defined()) check_of_channels(operation, x, "bias", bias);
}

}  // namespace asyncgrad::detail
