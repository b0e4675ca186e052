#include "asyncgrad/nn/dense.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

Tensor initial_weight(std::int64_t in, std::int64_t out, const DenseOptions& options, Location where) {
  const CallSite site(where);
  if (in < 1 || out < 1) {
    throw_error("Dense", fmt::format("needs at least one input and one output, got {}, {}", in, out));
  }
  layer_detail::check_type("Dense", options.dtype);
  return parameter(options.initialiser(Shape{in, out}, layer_detail::random_options(options), where));
}

}  // namespace

Dense::Dense(std::int64_t in, std::int64_t out, Activation activation, DenseOptions options, Location where)
    : weight(initial_weight(in, out, options, where)), activation(activation) {
  if (options.bias) bias = parameter(zeros({out}, {.dtype = options.dtype, .device = options.device}, where));
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
