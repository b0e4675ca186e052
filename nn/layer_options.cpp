#include "asyncgrad/nn/layer_options.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn::layer_detail {

void check_type(const char* layer, DType dtype) {
  if (is_floating(dtype) && has_arithmetic(dtype)) return;
  throw_error(layer, fmt::format("cannot be of type {}", name(dtype)));
}

Tensor initial_weight(const char* layer, const Initialiser& initialiser, const Shape& shape,
                      const RandomOptions& options, Location where) {
  if (initialiser == nullptr) throw_error(layer, "initialiser must be a function, got none");
  Tensor weight = initialiser(shape, options, where);
  if (weight.defined() && weight.shape() == shape) return weight;
  throw_error(layer, fmt::format("initialiser must return the shape {}, got {}", shape.str(),
                                 weight.defined() ? weight.shape().str() : "nothing"));
}

}  // namespace asyncgrad::nn::layer_detail
