#include "asyncgrad/nn/layer_options.h"

#include <fmt/format.h>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn::layer_detail {

void check_type(const char* layer, DType dtype) {
  if (is_floating(dtype) && has_arithmetic(dtype)) return;
  throw_error(layer, fmt::format("must be of type float32 or float64, got {}", name(dtype)));
}

void check_axis(const char* layer, int axis) {
  if (axis >= -Shape::max_rank && axis < Shape::max_rank) return;
  throw_error(layer, fmt::format("there is no axis {} in a tensor, which has {} at most", axis, Shape::max_rank),
              ErrorKind::index);
}

const Shape& shape_of(const char* layer, const Arg& x) {
  if (!x->defined()) detail::throw_undefined(layer);
  return x->shape();
}

void check_channels(const char* layer, const Arg& x, std::int64_t channels) {
  const Shape& shape = shape_of(layer, x);
  if (shape.rank() >= 2 && shape[1] == channels) return;
  throw_error(layer, fmt::format("needs x (N, {}) or (N, {}, …), got {}", channels, channels, shape.str()));
}

Tensor initial_weight(const char* layer, const Initialiser& initialiser, const Shape& shape,
                      const RandomOptions& options, Location where) {
  if (initialiser == nullptr) throw_error(layer, "initialiser must be a function, got none");
  Tensor weight = initialiser(shape, options, where);
  if (!weight.defined() || weight.shape() != shape) {
    throw_error(layer, fmt::format("initialiser must return the shape {}, got {}", shape.str(),
                                   weight.defined() ? weight.shape().str() : "nothing"));
  }
  if (weight.dtype() != options.dtype || weight.device() != options.device) {
    throw_error(layer,
                fmt::format("initialiser must follow its options, {} on {}, and returned {} on {}", name(options.dtype),
                            options.device.str(), name(weight.dtype()), weight.device().str()));
  }
  return weight;
}

}  // namespace asyncgrad::nn::layer_detail
