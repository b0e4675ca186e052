#include "asyncgrad/autograd/norm.h"

#include <fmt/format.h>

#include <vector>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/networks/composed.h"
#include "asyncgrad/autograd/networks/normalisation.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

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

NormAttributes checked(const char* operation, const Arg& x, const Tensor& weight, const Tensor& bias,
                       const NormOptions& options) {
  const NamedOperand in{"x", checked_operand(x, operation)};
  check_floating(operation, in);
  const Shape& shape = in.impl.shape;
  if (options.axes < 1 || options.axes > shape.rank()) {
    throw_error(operation, fmt::format("rows of {} axes in x {}", options.axes, shape.str()));
  }
  check_not_negative(operation, "epsilon", options.epsilon);
  const Shape row = row_shape(shape, options.axes);
  check_row_operand(operation, in, "weight", weight, row);
  check_row_operand(operation, in, "bias", bias, row);
  return {.rows = shape.numel(0, shape.rank() - options.axes),
          .width = row.numel(),
          .epsilon = options.epsilon,
          .has_weight = weight.defined(),
          .has_bias = bias.defined()};
}

// The backward function. It needs x, the rows' statistics and the weight.
class NormBackward {
 public:
  NormBackward(const NormAttributes& attributes, const Tensor& x, const Tensor& statistics, const Tensor& weight)
      : attributes_(attributes), x_(x), statistics_(statistics), weight_(save(weight, weight.defined())) {}

  void operator()(const Tensor& dy, Gradients& gradients) const {
    if (gradients.are_recorded()) return differentiate_composed(dy, gradients);
    const Shape parts{norm_tiles(attributes_.rows, attributes_.width), attributes_.width};
    const Tensor weight = attributes_.has_weight ? gradients.read(weight_) : Tensor();
    NormalisationSlopes slopes = queue_normalisation_grad(Op::layer_norm_grad, attributes_, gradients.read(x_),
                                                          gradients.read(statistics_), dy, weight, parts);
    gradients(0, [&] { return std::move(slopes.dx); });
    gradients(1, [&] { return together(slopes.dweight, gradients.shape(1)); });
    gradients(2, [&] { return together(slopes.dbias, gradients.shape(2)); });
  }

 private:
  void differentiate_composed(const Tensor& dy, Gradients& gradients) const {
    const Tensor weight = attributes_.has_weight ? gradients.read_input(weight_, 1) : Tensor();
    // The gradients do not depend on the bias, which was not saved.
    const TensorOptions alike{.dtype = dy.dtype(), .device = dy.device()};
    const Tensor bias = gradients.wants(2) ? parameter(zeros(gradients.shape(2), alike)) : Tensor();
    const Tensor inputs[] = {gradients.read_input(x_, 0), weight, bias};
    differentiate(gradients, inputs, dy, [&](std::span<const Tensor> in) {
      const NormOptions options{.axes = 1, .epsilon = attributes_.epsilon};
      const Tensor rows = in[0].reshape({attributes_.rows, attributes_.width});
      const auto row = [&](const Tensor& x) { return x.defined() ? x.reshape({attributes_.width}) : Tensor(); };
      const Tensor y = attributes_.is_rms ? composed_rms_norm(rows, row(in[1]), options)
                                          : composed_layer_norm(rows, row(in[1]), row(in[2]), options);
      return y.reshape(dy.shape());
    });
  }
  static Tensor together(const Tensor& parts, const Shape& shape) {
    return make_view(parts.size(0) == 1 ? parts : sum(parts, 0), shape);
  }

  NormAttributes attributes_;
  SavedTensor x_, statistics_, weight_;
};

Tensor normalised(const char* operation, const Arg& x, const Tensor& weight, const Tensor& bias,
                  const NormAttributes& attributes) {
  const Tensor statistics = make_like(x, {2, attributes.rows});
  Tensor y = queue_normalisation(Op::layer_norm, attributes, x, writes(statistics), weight, bias);
  if (records(x, weight, bias)) {
    record(operation, x.where(), y, {x, weight, bias}, composed(NormBackward(attributes, x, statistics, weight)));
  }
  return y;
}

}  // namespace

Tensor layer_norm(const Arg& x, const Tensor& weight, const Tensor& bias, const NormOptions& options) {
  return normalised("layer_norm", x, weight, bias, checked("layer_norm", x, weight, bias, options));
}

Tensor rms_norm(const Arg& x, const Tensor& weight, const NormOptions& options) {
  NormAttributes attributes = checked("rms_norm", x, weight, Tensor(), options);
  attributes.is_rms = true;
  return normalised("rms_norm", x, weight, Tensor(), attributes);
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

Tensor composed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormOptions& options) {
  const Tensor rows = rows_of(x, options.axes);
  const Tensor distances = rows - mean(rows, 1, true);
  return scaled(distances * rsqrt(mean(square(distances), 1, true) + options.epsilon), weight, bias, x.shape());
}

Tensor composed_rms_norm(const Tensor& x, const Tensor& weight, const NormOptions& options) {
  const Tensor rows = rows_of(x, options.axes);
  return scaled(rows * rsqrt(mean(square(rows), 1, true) + options.epsilon), weight, Tensor(), x.shape());
}

}  // namespace detail

}  // namespace asyncgrad
