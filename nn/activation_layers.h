// Activations as layers, for programs that want an object for each; a Sequential takes the functions themselves, too:
// `Sequential net{Dense(4, 8), ReLU(), Dense(8, 8), relu}`. Formulas and defaults are those of autograd/elementwise.h and
// autograd/softmax.h.
//
// Calls take any shape and give the same; they are queued, may wait for room, and throw Error as the functions do.
// Several threads may call the same one at once.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

namespace activation_detail {

template <Activation function>
struct Applies {
  Tensor operator()(const Arg& x) const { return function(x); }
  void members(Members&) {}
};

}  // namespace activation_detail

struct ReLU : activation_detail::Applies<relu> {};
struct Sigmoid : activation_detail::Applies<sigmoid> {};
struct Tanh : activation_detail::Applies<tanh> {};
struct SiLU : activation_detail::Applies<silu> {};
struct GELU : activation_detail::Applies<gelu> {};
struct GELUTanh : activation_detail::Applies<gelu_tanh> {};
struct Softplus : activation_detail::Applies<softplus> {};
struct Softsign : activation_detail::Applies<softsign> {};
struct SELU : activation_detail::Applies<selu> {};
struct Hardswish : activation_detail::Applies<hardswish> {};
struct Mish : activation_detail::Applies<mish> {};

struct LeakyReLU {
  // Throws Error for a number that is not finite; ELU, too.
  explicit LeakyReLU(double slope = leaky_relu_slope, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return leaky_relu(x, Scalar(slope, x.where())); }
  void members(Members&) {}  // the slope is a setting, which a file does not change

  double slope;
};
struct ELU {
  explicit ELU(double scale = elu_scale, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return elu(x, Scalar(scale, x.where())); }
  void members(Members&) {}

  double scale;
};

struct Softmax {
  // Throws Error for an axis that no tensor has; LogSoftmax, too.
  explicit Softmax(int axis = -1, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return softmax(x, axis); }
  void members(Members&) {}

  int axis;
};
struct LogSoftmax {
  explicit LogSoftmax(int axis = -1, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return log_softmax(x, axis); }
  void members(Members&) {}

  int axis;
};

struct PReLUOptions {
  double initial_slope = 0.25;
  DType dtype = default_dtype();
  Device device = default_device();
};
// leaky_relu with a slope that is learned, one for all elements or one for each channel: x (N, C) or (N, C, …), slope
// (1) or (C). (He et al. 2015, "Delving Deep into Rectifiers".)
struct PReLU {
  // Queues the initial slopes; may wait for room. Throws Error for channels below 1, for a slope that is not finite,
  // and for a type other than float32 and float64.
  explicit PReLU(std::int64_t channels = 1, PReLUOptions options = {}, Location where = Location::current());
  // Throws Error if there are several slopes, and x has not one channel for each.
  Tensor operator()(const Arg& x) const;
  void members(Members& m) { m("slope", slope); }

  Tensor slope;
};

}  // namespace asyncgrad::nn
