// Convolutional layers.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/conv.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/activation.h"
#include "asyncgrad/nn/init.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// autograd/conv.h says what the options mean, and has their defaults.
struct Conv2dOptions {
  Size2d stride = asyncgrad::Conv2dOptions{}.stride;
  Size2d padding = asyncgrad::Conv2dOptions{}.padding;
  Size2d dilation = asyncgrad::Conv2dOptions{}.dilation;
  std::int64_t groups = asyncgrad::Conv2dOptions{}.groups;
  bool bias = true;                          // the bias starts with zeros
  Initialiser initialiser = xavier_uniform;  // of a matrix (I / groups h w, O): the weight before it is transposed
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// activation(conv2d(x, weight, bias)), see autograd/conv.h: x (N, I, H, W), weight (O, I / groups, h, w), bias (O)
// -> (N, O, P, Q), P = (H + 2 padding - dilation (h - 1) - 1) / stride + 1, rounded down, and Q alike.
struct Conv2d {
  // Queues the initial values; may wait for room. Throws Error for channels or a kernel_size below 1, for groups that
  // do not divide the channels, for other options that conv2d refuses, for a type other than float32 and float64, and what
  // the initialiser throws.
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, Activation activation = {},
         const Conv2dOptions& options = {}, Location where = Location::current());
  template <NoActivation<Conv2dOptions> Other>
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, const Other&,
         const Conv2dOptions& = {}, Location = Location::current())
      : Conv2d(in_channels, out_channels, kernel_size) {
    activation_detail::refuse<Other>();
  }

  // Queued; may wait for room. Throws Error as conv2d does. A const Conv2d may be called by several threads at once.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;  // Tensor{} without a bias
  Activation activation;
  asyncgrad::Conv2dOptions convolution;
};

struct Conv1dOptions {
  std::int64_t stride = asyncgrad::Conv1dOptions{}.stride;
  std::int64_t padding = asyncgrad::Conv1dOptions{}.padding;
  std::int64_t dilation = asyncgrad::Conv1dOptions{}.dilation;
  std::int64_t groups = asyncgrad::Conv1dOptions{}.groups;
  bool bias = true;
  Initialiser initialiser = xavier_uniform;  // of a matrix (I / groups k, O)
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;
};

// Does the same with one axis: x (N, I, L), weight (O, I / groups, k), bias (O) -> (N, O, M).
struct Conv1d {
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Activation activation = {},
         const Conv1dOptions& options = {}, Location where = Location::current());
  template <NoActivation<Conv1dOptions> Other>
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, const Other&,
         const Conv1dOptions& = {}, Location = Location::current())
      : Conv1d(in_channels, out_channels, kernel_size) {
    activation_detail::refuse<Other>();
  }

  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;
  Activation activation;
  asyncgrad::Conv1dOptions convolution;
};

struct ConvTranspose2dOptions {
  Size2d stride = asyncgrad::ConvTranspose2dOptions{}.stride;
  Size2d padding = asyncgrad::ConvTranspose2dOptions{}.padding;
  Size2d output_padding = asyncgrad::ConvTranspose2dOptions{}.output_padding;
  Size2d dilation = asyncgrad::ConvTranspose2dOptions{}.dilation;
  std::int64_t groups = asyncgrad::ConvTranspose2dOptions{}.groups;
  bool bias = true;                          // the bias starts with zeros
  Initialiser initialiser = xavier_uniform;  // of a matrix (O / groups h w, I): that of the convolution it transposes
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;
};

// activation(conv_transpose2d(x, weight, bias)), see autograd/conv.h: x (N, I, H, W), weight (I, O / groups, h, w),
// bias (O) -> (N, O, P, Q), P = (H - 1) stride - 2 padding + dilation (h - 1) + output_padding + 1, and Q alike. Errors
// as those of Conv2d.
struct ConvTranspose2d {
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, Activation activation = {},
                  const ConvTranspose2dOptions& options = {}, Location where = Location::current());
  template <NoActivation<ConvTranspose2dOptions> Other>
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, const Other&,
                  const ConvTranspose2dOptions& = {}, Location = Location::current())
      : ConvTranspose2d(in_channels, out_channels, kernel_size) {
    activation_detail::refuse<Other>();
  }

  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;
  Activation activation;
  asyncgrad::ConvTranspose2dOptions convolution;
};

struct ConvTranspose1dOptions {
  std::int64_t stride = asyncgrad::ConvTranspose1dOptions{}.stride;
  std::int64_t padding = asyncgrad::ConvTranspose1dOptions{}.padding;
  std::int64_t output_padding = asyncgrad::ConvTranspose1dOptions{}.output_padding;
  std::int64_t dilation = asyncgrad::ConvTranspose1dOptions{}.dilation;
  std::int64_t groups = asyncgrad::ConvTranspose1dOptions{}.groups;
  bool bias = true;
  Initialiser initialiser = xavier_uniform;  // of a matrix (O / groups k, I)
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;
};

// Does the same with one axis: x (N, I, L), weight (I, O / groups, k), bias (O) -> (N, O, M).
struct ConvTranspose1d {
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
                  Activation activation = {}, const ConvTranspose1dOptions& options = {},
                  Location where = Location::current());
  template <NoActivation<ConvTranspose1dOptions> Other>
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, const Other&,
                  const ConvTranspose1dOptions& = {}, Location = Location::current())
      : ConvTranspose1d(in_channels, out_channels, kernel_size) {
    activation_detail::refuse<Other>();
  }

  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;
  Activation activation;
  asyncgrad::ConvTranspose1dOptions convolution;
};

}  // namespace asyncgrad::nn
