#include "asyncgrad/nn/batch_norm.h"

#include <fmt/format.h>

#include <string>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

void check(std::int64_t channels, const BatchNormOptions& options) {
  check_at_least_one("BatchNorm", "channels", channels);
  layer_detail::check_type("BatchNorm", options.dtype);
  check_not_negative("BatchNorm", "epsilon", options.epsilon);
  check_share("BatchNorm", "momentum", options.momentum);
}

// Takes the handle by value, which is another handle of the same values. The values are written once, so that a batch
// that could not be computed leaves them unchanged.
void update_running(Tensor running, double momentum, const Tensor& batch, double scale, const Location& where) {
  const NoGrad no_grad;
  Tensor next = Arg(running, where) * Scalar(1 - momentum, where.file, where.line);
  const Tensor share = Arg(batch, where) * Scalar(momentum * scale, where.file, where.line);
  next += Arg(share, where);
  running.copy_(Arg(next, where));
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
        fmt::format("needs x (N, {}) or (N, {}, …) with two elements of each channel in training, got {}{}", channels,
                    channels, shape.str(), has_channels ? "; use a larger batch, or predict under Inference" : hint));
  }
  BatchNormResult result = batch_norm(x, weight, bias, {.epsilon = epsilon});
  if (!is_recomputing()) {
    const double correction = static_cast<double>(count) / static_cast<double>(count - 1);
    update_running(running_mean, momentum, result.mean, 1, x.where());
    update_running(running_var, momentum, result.variance, correction, x.where());
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
