#include "asyncgrad/nn/activation_layers.h"

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

LeakyReLU::LeakyReLU(double slope, Location where) : slope(slope) {
  const CallSite site(where);
  check_finite("LeakyReLU", "slope", slope);
}
ELU::ELU(double scale, Location where) : scale(scale) {
  const CallSite site(where);
  check_finite("ELU", "scale", scale);
}

Softmax::Softmax(int axis, Location where) : axis(axis) {
  const CallSite site(where);
  layer_detail::check_axis("Softmax", axis);
}
LogSoftmax::LogSoftmax(int axis, Location where) : axis(axis) {
  const CallSite site(where);
  layer_detail::check_axis("LogSoftmax", axis);
}

PReLU::PReLU(std::int64_t channels, PReLUOptions options, Location where) {
  const CallSite site(where);
  check_at_least_one("PReLU", "channels", channels);
  check_finite("PReLU", "initial_slope", options.initial_slope);
  layer_detail::check_type("PReLU", options.dtype);
  slope = parameter(full({channels}, Scalar(options.initial_slope, where),
                         {.dtype = options.dtype, .device = options.device}, where));
}

Tensor PReLU::operator()(const Arg& x) const {
  const std::int64_t channels = slope.size(0);
  if (channels == 1) return leaky_relu(x, Arg(slope.reshape({}, x.where()), x.where()));  // which keeps the shape ()
  layer_detail::check_channels("PReLU", x, channels);
  Shape beside{channels};  // broadcast over the axes behind the channels
  for (int axis = 2; axis < x->rank(); ++axis) beside.append(1);
  const Tensor slopes = slope.reshape(beside, x.where());
  return leaky_relu(x, Arg(slopes, x.where()));
}

}  // namespace asyncgrad::nn
