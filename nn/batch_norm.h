// The layer that normalises channels over a batch.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/batch_norm.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct BatchNormOptions {
  double epsilon = asyncgrad::BatchNormOptions{}.epsilon;
  double momentum = 0.1;  // the share of a batch in the running statistics; in [0, 1]
  bool affine = true;     // whether there are a weight, which starts with ones, and a bias, which starts with zeros
  DType dtype = default_dtype();
  Device device = default_device();
};

// y = (x - mean) / sqrt(variance + epsilon) weight + bias: x (N, C) or (N, C, …), weight and bias (C) -> y like x.
//
// In training (is_training() in grad_mode.h) mean and variance are those of each channel of the batch, and the running
// statistics, which start with 0 and 1, go on:
//   running_mean <- (1 - momentum) running_mean + momentum mean,
//   running_var <- (1 - momentum) running_var + momentum variance n / (n - 1), n = x.numel() / C.
// In evaluation the running statistics take the place of the batch's, and stay. (torch.nn.BatchNorm2d.)
//
// The statistics are buffers: members without a gradient, which state() lists and a file keeps. The call is const, as
// all calls of layers are, and yet updates them. A layer of one's own can do the same by update_running() (running.h).
struct BatchNorm {
  // Queues the initial values; may wait for room. Throws Error for less than one channel, for an epsilon below 0, a
  // momentum outside of [0, 1], and a type other than float32 and float64.
  explicit BatchNorm(std::int64_t channels, BatchNormOptions options = {}, Location where = Location::current());

  // Queued; may wait for room. Throws Error as batch_norm does, and in training for fewer than two elements of a
  // channel. In training one thread at a time may call it.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight, bias;  // Tensor{} unless affine
  Tensor running_mean, running_var;
  double epsilon, momentum;
};

}  // namespace asyncgrad::nn
