#include "asyncgrad/nn/conv.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

struct Sizes {
  std::int64_t in, out, groups;
  Size2d kernel;
};

void check(const char* layer, const Sizes& s, DType dtype) {
  if (s.in < 1 || s.out < 1 || s.kernel.height < 1 || s.kernel.width < 1) {
    throw_error(layer, fmt::format("needs at least one input, one output and one element of the kernel, got {}, {}, "
                                   "({}, {})",
                                   s.in, s.out, s.kernel.height, s.kernel.width));
  }
  if (s.groups < 1 || s.in % s.groups != 0 || s.out % s.groups != 0) {
    throw_error(layer, fmt::format("{} groups do not divide {} inputs and {} outputs", s.groups, s.in, s.out));
  }
  layer_detail::check_type(layer, dtype);
}

// The weight of a convolution along the last axis or the last two.
template <class Options>
Tensor initial_weight(const char* layer, int axes, const Sizes& sizes, const Options& options, Location where) {
  const CallSite site(where);
  check(layer, sizes, options.dtype);
  Shape shape{sizes.out, sizes.in / sizes.groups};
  if (axes == 2) shape.append(sizes.kernel.height);
  shape.append(sizes.kernel.width);
  const Tensor matrix =
      options.initialiser({shape.numel(1, shape.rank()), sizes.out}, layer_detail::random_options(options), where);
  // A parameter is written in place, so it is no view.
  return parameter(transpose(Arg(matrix, where)).reshape(shape, where).clone(where));
}

template <class Options>
Tensor initial_bias(std::int64_t out, const Options& options, Location where) {
  if (!options.bias) return Tensor();
  return parameter(zeros({out}, {.dtype = options.dtype, .device = options.device}, where));
}

Tensor activated(const Tensor& y, Activation activation, const Arg& x) {
  return activation == nullptr ? y : activation(Arg(y, x.where()));
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Size2d kernel, Activation activation, Conv2dOptions options,
               Location where)
    : weight(initial_weight("Conv2d", 2, {in, out, options.groups, kernel}, options, where)),
      bias(initial_bias(out, options, where)),
      activation(activation),
      convolution{.stride = options.stride,
                  .padding = options.padding,
                  .dilation = options.dilation,
                  .groups = options.groups} {}

Tensor Conv2d::operator()(const Arg& x) const { return activated(conv2d(x, weight, bias, convolution), activation, x); }

void Conv2d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, Activation activation, Conv1dOptions options,
               Location where)
    : weight(initial_weight("Conv1d", 1, {in, out, options.groups, {1, kernel}}, options, where)),
      bias(initial_bias(out, options, where)),
      activation(activation),
      convolution{.stride = options.stride,
                  .padding = options.padding,
                  .dilation = options.dilation,
                  .groups = options.groups} {}

Tensor Conv1d::operator()(const Arg& x) const { return activated(conv1d(x, weight, bias, convolution), activation, x); }

void Conv1d::members(Members& m) {
  m("weight", weight);
  m("bias", bias);
}

}  // namespace asyncgrad::nn
