#include "asyncgrad/nn/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

struct Sizes {
  std::int64_t in_channels, out_channels, groups;
  Size2d kernel_size;
};

void check(const char* layer, const Sizes& s, DType dtype) {
  check_at_least_one(layer, "in_channels", s.in_channels);
  check_at_least_one(layer, "out_channels", s.out_channels);
  check_at_least_one(layer, "kernel_size", std::min(s.kernel_size.height, s.kernel_size.width));
  check_at_least_one(layer, "groups", s.groups);
  if (s.in_channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    throw_error(layer, fmt::format("groups must divide in_channels and out_channels, got {} groups for {} and {}",
                                   s.groups, s.in_channels, s.out_channels));
  }
  layer_detail::check_type(layer, dtype);
}

template <class Convolution, class Options>
Convolution convolution_of(const Options& options) {
  Convolution convolution{.stride = options.stride, .padding = options.padding};
  if constexpr (requires { options.output_padding; }) convolution.output_padding = options.output_padding;
  convolution.dilation = options.dilation;
  convolution.groups = options.groups;
  return convolution;
}

// The weight of a convolution along the last axis or the last two. Options of a transposed one have output_padding: its
// weight is that of the convolution from its outputs to its inputs.
template <class Convolution, class Options>
Tensor initial_weight(const char* layer, Sizes sizes, const Options& options, Location where) {
  const CallSite site(where);
  constexpr bool is_1d = requires(Convolution convolution) { detail::along_width(convolution); };
  check(layer, sizes, options.dtype);
  const auto convolution = convolution_of<Convolution>(options);
  if constexpr (is_1d) {
    detail::check_options(layer, detail::along_width(convolution));
  } else {
    detail::check_options(layer, convolution);
  }
  if constexpr (requires { options.output_padding; }) std::swap(sizes.in_channels, sizes.out_channels);
  Shape shape{sizes.out_channels, sizes.in_channels / sizes.groups};
  if (!is_1d) shape.append(sizes.kernel_size.height);
  shape.append(sizes.kernel_size.width);
  const Tensor matrix =
      layer_detail::initial_weight(layer, options.initialiser, {shape.numel(1, shape.rank()), sizes.out_channels},
                                   layer_detail::random_options(options), where);
  // A view cannot be a parameter, because parameters are written in place.
  return parameter(transpose(Arg(matrix, where)).reshape(shape, where).clone(where));
}

template <class Options>
Tensor initial_bias(std::int64_t out_channels, const Options& options, Location where) {
  if (!options.bias) return Tensor();
  return parameter(zeros({out_channels}, {.dtype = options.dtype, .device = options.device}, where));
}

Tensor activated(const Tensor& y, Activation activation, const Arg& x) {
  return activation == nullptr ? y : activation(Arg(y, x.where()));
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, Activation activation,
               const Conv2dOptions& options, Location where)
    : weight(initial_weight<asyncgrad::Conv2dOptions>(
          "Conv2d", {in_channels, out_channels, options.groups, kernel_size}, options, where)),
      bias(initial_bias(out_channels, options, where)),
      activation(activation),
      convolution(convolution_of<asyncgrad::Conv2dOptions>(options)) {}

Tensor Conv2d::operator()(const Arg& x) const { return activated(conv2d(x, weight, bias, convolution), activation, x); }

void Conv2d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

Conv1d::Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Activation activation,
               const Conv1dOptions& options, Location where)
    : weight(initial_weight<asyncgrad::Conv1dOptions>(
          "Conv1d", {in_channels, out_channels, options.groups, {1, kernel_size}}, options, where)),
      bias(initial_bias(out_channels, options, where)),
      activation(activation),
      convolution(convolution_of<asyncgrad::Conv1dOptions>(options)) {}

Tensor Conv1d::operator()(const Arg& x) const { return activated(conv1d(x, weight, bias, convolution), activation, x); }

void Conv1d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size,
                                 Activation activation, const ConvTranspose2dOptions& options, Location where)
    : weight(initial_weight<asyncgrad::ConvTranspose2dOptions>(
          "ConvTranspose2d", {in_channels, out_channels, options.groups, kernel_size}, options, where)),
      bias(initial_bias(out_channels, options, where)),
      activation(activation),
      convolution(convolution_of<asyncgrad::ConvTranspose2dOptions>(options)) {}

Tensor ConvTranspose2d::operator()(const Arg& x) const {
  return activated(conv_transpose2d(x, weight, bias, convolution), activation, x);
}

void ConvTranspose2d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

ConvTranspose1d::ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
                                 Activation activation, const ConvTranspose1dOptions& options, Location where)
    : weight(initial_weight<asyncgrad::ConvTranspose1dOptions>(
          "ConvTranspose1d", {in_channels, out_channels, options.groups, {1, kernel_size}}, options, where)),
      bias(initial_bias(out_channels, options, where)),
      activation(activation),
      convolution(convolution_of<asyncgrad::ConvTranspose1dOptions>(options)) {}

Tensor ConvTranspose1d::operator()(const Arg& x) const {
  return activated(conv_transpose1d(x, weight, bias, convolution), activation, x);
}

void ConvTranspose1d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

}  // namespace asyncgrad::nn
