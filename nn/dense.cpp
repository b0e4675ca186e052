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

[[noreturn]] void throw_shapes(const Shape& x, const Shape& weight) {
  std::string hint;
  if (x.rank() > 2) {
    // A row of images, rather than of what a sequence has.
    const std::int64_t row = x.numel(1, x.rank());
    if (x.rank() == 4 || row == weight[0]) hint = fmt::format("; Flatten before it makes x ({}, {})", x[0], row);
    if (!hint.empty() && row != weight[0]) hint += fmt::format(", which Dense({}, {}) takes", row, weight[1]);
  }
  if (hint.empty() && x.rank() > 0) hint = fmt::format("; Dense({}, {}) takes it", x[-1], weight[1]);
  throw_error("Dense", fmt::format("needs x (…, {}), got {}; weight {}{}", weight[0], x.str(), weight.str(), hint));
}

}  // namespace

Dense::Dense(std::int64_t in_features, std::int64_t out_features, Activation activation, const DenseOptions& options,
             Location where)
    : weight(initial_weight(in_features, out_features, options, where)), activation(activation) {
  if (options.bias) bias = parameter(zeros({out_features}, {.dtype = options.dtype, .device = options.device}, where));
}

Tensor Dense::operator()(const Arg& x) const {
  const Shape& shape = layer_detail::shape_of("Dense", x);
  if (shape.rank() == 0 || shape[-1] != weight.size(0)) throw_shapes(shape, weight.shape());
  return dense(x, weight, bias, activation);
}

void Dense::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

}  // namespace asyncgrad::nn
