#include "asyncgrad/nn/dense.h"

#include <fmt/format.h>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

Tensor initial_weight(std::int64_t in_features, std::int64_t out_features, const DenseOptions& options,
                      Location where) {
  const CallSite site(where);
  check_at_least_one("Dense", "in_features", in_features);
  check_at_least_one("Dense", "out_features", out_features);
  layer_detail::check_type("Dense", options.dtype);
  return parameter(layer_detail::initial_weight("Dense", options.initialiser, {in_features, out_features},
                                                layer_detail::random_options(options), where));
}

}  // namespace

Dense::Dense(std::int64_t in_features, std::int64_t out_features, Activation activation, const DenseOptions& options,
             Location where)
    : weight(initial_weight(in_features, out_features, options, where)), activation(activation) {
  if (options.bias) bias = parameter(zeros({out_features}, {.dtype = options.dtype, .device = options.device}, where));
}

Tensor Dense::operator()(const Arg& x) const {
  const Shape& shape = x->shape();
  if (shape.rank() == 0 || shape[-1] != weight.size(0)) {
    throw_error("Dense",
                fmt::format("needs x (…, {}), got {}; weight {}", weight.size(0), shape.str(), weight.shape().str()));
  }
  if (shape.rank() == 2) return dense(x, weight, bias, activation);
  const Location& where = x.where();
  const Tensor rows = x->reshape({shape.numel() / weight.size(0), weight.size(0)}, where);
  return dense(Arg(rows, where), weight, bias, activation).reshape(shape.with(-1, weight.size(1)), where);
}

void Dense::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

}  // namespace asyncgrad::nn
