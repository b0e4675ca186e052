// Normalisation of channels over a batch. Differentiable in x, weight and bias, any number of times; queued; may wait
// for room in the queue. Throws Error at the call for int64, for shapes that do not fit, and for types or devices that
// differ.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct BatchNormOptions {
  double epsilon = 1e-5;  // is added to the variance; at least 0
};

struct BatchNormResult {
  Tensor y;
  Tensor mean, variance;  // of each channel of x, (C); without gradient
};

// y = (x - mean) / sqrt(variance + epsilon) weight + bias, with mean and variance (divided by the number of elements)
// of each channel over the batch and all other axes: Ioffe, Szegedy 2015, "Batch normalization", algorithm 1.
// x (N, C) or (N, C, …), weight and bias (C), or Tensor{} for ones and zeros -> y like x.
BatchNormResult batch_norm(const Arg& x, const Tensor& weight = {}, const Tensor& bias = {},
                           const BatchNormOptions& options = {});

// Does the same with given statistics, both (C), as in evaluation. They count as constants.
Tensor batch_norm_with(const Arg& x, const Tensor& mean, const Tensor& variance, const Tensor& weight = {},
                       const Tensor& bias = {}, const BatchNormOptions& options = {});

}  // namespace asyncgrad
