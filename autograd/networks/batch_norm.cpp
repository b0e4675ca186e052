#include "asyncgrad/autograd/batch_norm.h"

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/networks/normalisation.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad {

using namespace detail;

namespace {

BatchNormAttributes checked(const char* operation, const Arg& x, const Tensor& weight, const Tensor& bias,
                            const BatchNormOptions& options) {
  const NamedOperand in{"x", checked_operand(x, operation)};
  check_dtype(Op::batch_norm, operation, in);
  const Shape& shape = in.impl.shape;
  check_channels(operation, in, weight, bias);
  check_not_negative(operation, "epsilon", options.epsilon);
  return {.outer = shape[0],
          .channels = shape[1],
          .inner = shape.numel(2, shape.rank()),
          .epsilon = options.epsilon,
          .has_weight = weight.defined(),
          .has_bias = bias.defined()};
}

// The gradients as compositions of recorded operations, over x as (N, C, inner).
struct DecomposedGradients {
  Tensor dx, dweight, dbias;

  DecomposedGradients(const BatchNormAttributes& a, const Tensor& x_in, const Tensor& weight, const Tensor& statistics,
                      const Tensor& dy_in) {
    const Shape planes{a.outer, a.channels, a.inner}, column{a.channels, 1};
    const Tensor x = with_shape(x_in, planes), dy = with_shape(dy_in, planes);
    const auto given = [&](int row) { return make_view(statistics.slice(row, row + 1), column); };
    const Tensor distances = x - (a.is_given ? given(0) : mean(x, {0, 2}, true));
    const Tensor inverse = a.is_given ? given(2) : rsqrt(mean(square(distances), {0, 2}, true) + a.epsilon);
    const Tensor normal = distances * inverse;
    const Tensor weighted = a.has_weight ? dy * with_shape(weight, column) : dy;
    Tensor centred = weighted;
    if (!a.is_given) centred = weighted - mean(weighted, {0, 2}, true) - normal * mean(weighted * normal, {0, 2}, true);
    dx = with_shape(inverse * centred, x_in.shape());
    dweight = sum(dy * normal, {0, 2});
    dbias = sum(dy, {0, 2});
  }
};

// The backward function. It needs x, the channels' statistics and the weight.
class BatchNormBackward {
 public:
  BatchNormBackward(const BatchNormAttributes& attributes, const Tensor& x, const Tensor& statistics,
                    const Tensor& weight)
      : attributes_(attributes), x_(x), statistics_(statistics), weight_(save(weight, weight.defined())) {}

  void operator()(const Tensor& dy, Gradients& gradients) const {
    if (gradients.are_recorded()) {
      const Tensor weight = attributes_.has_weight ? gradients.read_input(weight_, 1) : Tensor();
      const DecomposedGradients all(attributes_, gradients.read_input(x_, 0), weight, gradients.read(statistics_), dy);
      gradients(0, [&] { return all.dx; });
      gradients(1, [&] { return all.dweight; });
      gradients(2, [&] { return all.dbias; });
      return;
    }
    const Tensor weight = attributes_.has_weight ? gradients.read(weight_) : Tensor();
    NormalisationGradients results =
        queue_normalisation_grad(Op::batch_norm_grad, attributes_, gradients.read(x_), gradients.read(statistics_), dy,
                                 weight, {attributes_.channels});
    gradients(0, [&] { return std::move(results.dx); });
    gradients(1, [&] { return std::move(results.dweight); });
    gradients(2, [&] { return std::move(results.dbias); });
  }

 private:
  BatchNormAttributes attributes_;
  SavedTensor x_, statistics_, weight_;
};

Tensor normalised(const char* operation, const Arg& x, const Tensor& statistics, const Tensor& weight,
                  const Tensor& bias, const BatchNormAttributes& attributes) {
  Tensor y = queue_normalisation(Op::batch_norm, attributes, x,
                                 attributes.is_given ? reads(statistics) : writes(statistics), weight, bias);
  if (records(x, weight, bias)) {
    record(Recorded(Op::batch_norm).as(operation), x.where(), y, {x, weight, bias},
           differentiable(BatchNormBackward(attributes, x, statistics, weight)));
  }
  return y;
}

// (3, C): mean, variance and 1 / sqrt(variance + epsilon).
Tensor statistics_of(const Tensor& mean, const Tensor& variance, double epsilon, const Location& where) {
  const NoGrad no_grad;
  const Tensor raised = Arg(variance, where) + epsilon;
  return make_view(concat({mean, variance, rsqrt(Arg(raised, where))}, 0, where), {3, mean.numel()});
}

}  // namespace

BatchNormResult batch_norm(const Arg& x, const Tensor& weight, const Tensor& bias, const BatchNormOptions& options) {
  const BatchNormAttributes attributes = checked("batch_norm", x, weight, bias, options);
  const Tensor statistics = make_like(x, {3, attributes.channels});
  Tensor y = normalised("batch_norm", x, statistics, weight, bias, attributes);
  const auto row = [&](int i) { return make_view(statistics.slice(i, i + 1), {attributes.channels}); };
  return {.y = std::move(y), .mean = row(0), .variance = row(1)};
}

Tensor batch_norm_with(const Arg& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                       const Tensor& bias, const BatchNormOptions& options) {
  constexpr const char* operation = "batch_norm_with";
  BatchNormAttributes attributes = checked(operation, x, weight, bias, options);
  const NamedOperand in{"x", *x->impl()};
  check_of_channels(operation, in, "mean", mean);
  check_of_channels(operation, in, "variance", variance);
  attributes.is_given = true;
  return normalised(operation, x, statistics_of(mean, variance, options.epsilon, x.where()), weight, bias, attributes);
}

}  // namespace asyncgrad
