#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/networks/normalised_rows.h"
#include "asyncgrad/autograd/norm.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

struct GroupNormForm {
  static constexpr Op op = Op::group_norm, gradient_op = Op::group_norm_grad;
  GroupNormAttributes attributes;

  std::int64_t rows() const { return attributes.rows(); }
  Shape parts() const { return {attributes.samples, attributes.groups * attributes.channels}; }
  Tensor decomposed(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
    return decomposed_group_norm(x, attributes.groups, weight, bias, attributes.epsilon);
  }
};

GroupNormForm checked(const Arg& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double epsilon) {
  constexpr const char* operation = "group_norm";
  const NamedOperand in{"x", checked_operand(x, operation)};
  check_dtype(Op::group_norm, operation, in);
  const Shape& shape = in.impl.shape;
  check_channels(operation, in, weight, bias);
  check_at_least_one(operation, "groups", groups);
  if (shape[1] % groups != 0) {
    throw_error(operation,
                fmt::format("the channels of x {} cannot be shared among {} groups; groups must divide the channels",
                            shape.str(), groups));
  }
  check_not_negative(operation, "epsilon", epsilon);
  return {.attributes = {.samples = shape[0],
                         .groups = groups,
                         .channels = shape[1] / groups,
                         .inner = shape.numel(2, shape.rank()),
                         .epsilon = epsilon,
                         .has_weight = weight.defined(),
                         .has_bias = bias.defined()}};
}

}  // namespace

Tensor group_norm(const Arg& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double epsilon) {
  return normalised_rows("group_norm", checked(x, groups, weight, bias, epsilon), x, weight, bias);
}

namespace detail {

Tensor decomposed_group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                             double epsilon) {
  const std::int64_t samples = x.size(0), channels = x.size(1), inner = x.shape().numel(2, x.rank());
  const Tensor rows = x.reshape({samples * groups, channels / groups * inner});
  Tensor y = decomposed_layer_norm(rows, {}, {}, {.epsilon = epsilon}).reshape({samples, channels, inner});
  if (weight.defined()) y = y * weight.reshape({channels, 1});
  if (bias.defined()) y = y + bias.reshape({channels, 1});
  return y.reshape(x.shape());
}

}  // namespace detail

}  // namespace asyncgrad
