#include "asyncgrad/nn/recurrent_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn::layer_detail {

using detail::RecurrentKind;

void check_recurrent_sizes(const RecurrentLayerKind& layer, std::int64_t in_features, std::int64_t hidden_features,
                           DType dtype) {
  check_at_least_one(layer.name, "in_features", in_features);
  check_at_least_one(layer.name, "hidden_features", hidden_features);
  // There are up to 4 gates.
  if (hidden_features > std::numeric_limits<std::int64_t>::max() / 4) {
    throw_error(layer.name, fmt::format("hidden_features is too large: {}", hidden_features));
  }
  check_type(layer.name, dtype);
}

RecurrentWeights initial_recurrent_weights(const RecurrentLayerKind& layer, std::int64_t in_features,
                                           std::int64_t hidden_features, bool has_bias, const RandomOptions& options,
                                           Location where) {
  const double limit = 1 / std::sqrt(static_cast<double>(hidden_features));
  const auto draw = [&](const Shape& shape) { return parameter(uniform(shape, -limit, limit, options, where)); };
  const std::int64_t width = detail::gate_count(layer.kind) * hidden_features;
  RecurrentWeights w;
  w.weight_ih = draw({in_features, width});
  w.weight_hh = draw({hidden_features, width});
  if (!has_bias) return w;
  w.bias_ih = draw({width});
  w.bias_hh = draw({width});
  return w;
}

Tensor recurrent_states(const RecurrentLayerKind& layer, const RecurrentWeights& weights, bool is_backward,
                        const Arg& x, const Tensor& h, const Tensor& c, const Tensor& lengths) {
  const Location where = x.where();
  const auto initial_state = [&](const Tensor& given) {
    if (given.defined()) return given;
    return zeros({x->size(1), weights.weight_hh.size(0)}, {.dtype = x->dtype(), .device = x->device()}, where);
  };
  // A GRU's reset gate scales the second bias, too; elsewhere both are one.
  const bool is_apart = layer.kind == RecurrentKind::gru;
  const Tensor bias =
      weights.bias_ih.defined() && !is_apart ? Arg(weights.bias_ih, where) + weights.bias_hh : weights.bias_ih;
  return detail::recurrent({.kind = layer.kind,
                            .is_backward = is_backward,
                            .x = x,
                            .weight_ih = weights.weight_ih,
                            .bias_ih = bias,
                            .weight_hh = weights.weight_hh,
                            .bias_hh = is_apart ? weights.bias_hh : Tensor(),
                            .h = initial_state(h),
                            .c = layer.has_c() ? initial_state(c) : Tensor(),
                            .lengths = lengths,
                            .where = where});
}

}  // namespace asyncgrad::nn::layer_detail
