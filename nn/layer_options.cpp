#include "asyncgrad/nn/layer_options.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn::layer_detail {

void check_type(const char* layer, DType dtype) {
  if (is_floating(dtype) && has_arithmetic(dtype)) return;
  throw_error(layer, fmt::format("cannot be of type {}", name(dtype)));
}

}  // namespace asyncgrad::nn::layer_detail
