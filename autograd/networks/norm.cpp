#include "asyncgrad/autograd/norm.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/networks/normalised_rows.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

struct NormForm {
  static constexpr Op op = Op::layer_norm, gradient_op = Op::layer_norm_grad;
  NormAttributes attributes;

  std::int64_t rows() const { return attributes.rows; }
  Shape parts() const { return {norm_tiles(attributes.rows, attributes.width), attributes.width}; }
  Tensor decomposed(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
    const NormOptions options{.axes = 1, .epsilon = attributes.epsilon};
    const Tensor rows = x.reshape({attributes.rows, attributes.width});
    const auto row = [&](const Tensor& in) { return in.defined() ? in.reshape({attributes.width}) : Tensor(); };
    const Tensor y = attributes.is_rms ? decomposed_rms_norm(rows, row(weight), options)
                                       : decomposed_layer_norm(rows, row(weight), row(bias), options);
    return y.reshape(x.shape());
  }
};

// The last axes of `shape`.
Shape row_shape(const Shape& shape, int axes) { return Shape(std::span(shape.end() - axes, shape.end())); }

void check_row_operand(const char* operation, NamedOperand x, const char* name, const Tensor& tensor,
                       const Shape& row) {
  if (!tensor.defined()) return;
  const NamedOperand operand{name, checked_operand(tensor, operation)};
  check_alike(operation, {x, operand});
  if (operand.impl.shape == row) return;
  throw_error(operation, fmt::format("{} must have the shape of a row, {}: x {}, {} {}", name, row.str(),
                                     x.impl.shape.str(), name, operand.impl.shape.str()));
}

NormForm checked(const char* operation, const Arg& x, const Tensor& weight, const Tensor& bias,
                 const NormOptions& options) {
  const NamedOperand in{"x", checked_operand(x, operation)};
  check_dtype(Op::layer_norm, operation, in);
  const Shape& shape = in.impl.shape;
  if (options.axes < 1 || options.axes > shape.rank()) {
    throw_error(operation,
                fmt::format("axes must be in [1, {}], got {}; x {}", shape.rank(), options.axes, shape.str()));
  }
  check_not_negative(operation, "epsilon", options.epsilon);
  const Shape row = row_shape(shape, options.axes);
  check_row_operand(operation, in, "weight", weight, row);
  check_row_operand(operation, in, "bias", bias, row);
  return {.attributes = {.rows = shape.numel(0, shape.rank() - options.axes),
                         .width = row.numel(),
                         .epsilon = options.epsilon,
                         .has_weight = weight.defined(),
                         .has_bias = bias.defined()}};
}

}  // namespace

Tensor layer_norm(const Arg& x, const Tensor& weight, const Tensor& bias, const NormOptions& options) {
  return normalised_rows("layer_norm", checked("layer_norm", x, weight, bias, options), x, weight, bias);
}

Tensor rms_norm(const Arg& x, const Tensor& weight, const NormOptions& options) {
  NormForm form = checked("rms_norm", x, weight, Tensor(), options);
  form.attributes.is_rms = true;
  return normalised_rows("rms_norm", form, x, weight, Tensor());
}

namespace detail {

namespace {

// x as a matrix of the rows that are normalised.
Tensor rows_of(const Tensor& x, int axes) {
  const int first = x.rank() - axes;
  return x.reshape({x.shape().numel(0, first), x.shape().numel(first, x.rank())});
}

Tensor scaled(Tensor normal, const Tensor& weight, const Tensor& bias, const Shape& shape) {
  if (weight.defined()) normal = normal * weight.reshape({weight.numel()});
  if (bias.defined()) normal = normal + bias.reshape({bias.numel()});
  return normal.reshape(shape);
}

}  // namespace

Tensor decomposed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormOptions& options) {
  const Tensor rows = rows_of(x, options.axes);
  const Tensor distances = rows - mean(rows, 1, true);
  return scaled(distances * rsqrt(mean(square(distances), 1, true) + options.epsilon), weight, bias, x.shape());
}

Tensor decomposed_rms_norm(const Tensor& x, const Tensor& weight, const NormOptions& options) {
  const Tensor rows = rows_of(x, options.axes);
  return scaled(rows * rsqrt(mean(square(rows), 1, true) + options.epsilon), weight, Tensor(), x.shape());
}

}  // namespace detail

}  // namespace asyncgrad
