#include "asyncgrad/nn/norm.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

struct Parts {
  const char* layer;
  double epsilon;
  DType dtype;
  Device device;
};

void check(const Parts& parts) {
  check_not_negative(parts.layer, "epsilon", parts.epsilon);
  layer_detail::check_type(parts.layer, parts.dtype);
}

Tensor initial(const Parts& parts, const Shape& row, double value, Location where) {
  const CallSite site(where);
  if (row.rank() == 0 || row.numel() == 0) {
    throw_error(parts.layer, fmt::format("needs rows with elements, got the shape {}", row.str()));
  }
  check(parts);
  return parameter(full(row, value, {.dtype = parts.dtype, .device = parts.device}, where));
}

}  // namespace

LayerNorm::LayerNorm(const Shape& row, LayerNormOptions options, Location where)
    : weight(initial({"LayerNorm", options.epsilon, options.dtype, options.device}, row, 1, where)),
      epsilon(options.epsilon) {
  if (options.bias) bias = initial({"LayerNorm", options.epsilon, options.dtype, options.device}, row, 0, where);
}

Tensor LayerNorm::operator()(const Arg& x) const {
  return layer_norm(x, weight, bias, {.axes = weight.rank(), .epsilon = epsilon});
}

void LayerNorm::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

RMSNorm::RMSNorm(const Shape& row, RMSNormOptions options, Location where)
    : weight(initial({"RMSNorm", options.epsilon, options.dtype, options.device}, row, 1, where)),
      epsilon(options.epsilon) {}

Tensor RMSNorm::operator()(const Arg& x) const {
  return rms_norm(x, weight, {.axes = weight.rank(), .epsilon = epsilon});
}

void RMSNorm::members(Members& m) { m("weight", weight); }

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions options, Location where)
    : groups(groups), channels(channels), epsilon(options.epsilon) {
  const CallSite site(where);
  check_at_least_one("GroupNorm", "groups", groups);
  check_at_least_one("GroupNorm", "channels", channels);
  if (channels % groups != 0) {
    throw_error(
        "GroupNorm",
        fmt::format("{} channels cannot be shared among {} groups; groups must divide the channels", channels, groups));
  }
  const Parts parts{"GroupNorm", options.epsilon, options.dtype, options.device};
  check(parts);
  if (!options.affine) return;
  weight = initial(parts, {channels}, 1, where);
  bias = initial(parts, {channels}, 0, where);
}

Tensor GroupNorm::operator()(const Arg& x) const {
  layer_detail::check_channels("GroupNorm", x, channels);
  return group_norm(x, groups, weight, bias, epsilon);
}

void GroupNorm::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

namespace {

// The number of groups of channels: one for each. What is wrong is that of this layer, not of the one below it.
std::int64_t groups_of(std::int64_t channels, const InstanceNormOptions& options, Location where) {
  const CallSite site(where);
  check_at_least_one("InstanceNorm", "channels", channels);
  check({"InstanceNorm", options.epsilon, options.dtype, options.device});
  return channels;
}

}  // namespace

InstanceNorm::InstanceNorm(std::int64_t channels, InstanceNormOptions options, Location where)
    : GroupNorm(
          groups_of(channels, options, where), channels,
          {.epsilon = options.epsilon, .affine = options.affine, .dtype = options.dtype, .device = options.device},
          where) {}

Tensor InstanceNorm::operator()(const Arg& x) const {
  layer_detail::check_channels("InstanceNorm", x, channels);
  if (x->shape().numel(2, x->rank()) == 1) {
    throw_error("InstanceNorm", fmt::format("needs more than one element in a channel, got {}", x->shape().str()));
  }
  return GroupNorm::operator()(x);
}

}  // namespace asyncgrad::nn
