#include "asyncgrad/nn/batch_norm.h"

#include <fmt/format.h>

#include <string>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/layer_options.h"
#include "asyncgrad/nn/running.h"

namespace asyncgrad::nn {

namespace {

void check(std::int64_t channels, const BatchNormOptions& options) {
  check_at_least_one("BatchNorm", "channels", channels);
  layer_detail::check_type("BatchNorm", options.dtype);
  check_not_negative("BatchNorm", "epsilon", options.epsilon);
  check_in_unit_interval("BatchNorm", "momentum", options.momentum);
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, BatchNormOptions options, Location where)
    : epsilon(options.epsilon), momentum(options.momentum) {
  const CallSite site(where);
  check(channels, options);
  const TensorOptions form{.dtype = options.dtype, .device = options.device};
  if (options.affine) {
    weight = parameter(ones({channels}, form, where));
    bias = parameter(zeros({channels}, form, where));
  }
  running_mean = zeros({channels}, form, where);
  running_var = ones({channels}, form, where);
}

Tensor BatchNorm::operator()(const Arg& x) const {
  if (!is_training()) return batch_norm_with(x, running_mean, running_var, weight, bias, {.epsilon = epsilon});
  const Shape& shape = layer_detail::shape_of("BatchNorm", x);
  const std::int64_t count = shape.rank() < 2 ? 0 : shape[0] * shape.numel(2, shape.rank());  // elements of a channel
  if (count < 2 || shape[1] != running_mean.numel()) {
    const std::int64_t channels = running_mean.numel();
    const bool has_channels = shape.rank() >= 2 && shape[1] == channels;
    const bool is_one_image = shape.rank() == 3 && shape[0] == channels;
    const std::string hint = shape.rank() == 4 || is_one_image ? detail::image_hint(shape, channels, 4) : "";
    throw_error(
        "BatchNorm",
        fmt::format(
            "needs x (N, {0}) or (N, {0}, …) with two elements of each channel in training, got {1}{2}", channels,
            shape.str(),
            has_channels ? fmt::format("; use a larger batch, or predict under {}", detail::inference_str()) : hint));
  }
  BatchNormResult result = batch_norm(x, weight, bias, {.epsilon = epsilon});
  if (!is_recomputing()) {
    const double correction = static_cast<double>(count) / static_cast<double>(count - 1);
    update_running(running_mean, 1 - momentum, Arg(result.mean, x.where()), momentum);
    update_running(running_var, 1 - momentum, Arg(result.variance, x.where()), momentum * correction);
  }
  return std::move(result.y);
}

void BatchNorm::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
  m("running_mean", running_mean);
  m("running_var", running_var);
}

}  // namespace asyncgrad::nn
