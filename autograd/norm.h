// Normalisation of rows. All are differentiable in all tensors, are queued, and may wait for room in the queue. They
// throw Error at the call for int64, for shapes that do not fit, and for types or devices that differ.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct NormOptions {
  int axes = 1;           // how many of the last axes make a row
  double epsilon = 1e-5;  // is added to the variance; at least 0
};

// (x - mean) / sqrt(variance + epsilon) weight + bias, with mean and variance (divided by the number of elements) of
// each row of x: Ba, Kiros, Hinton 2016, "Layer normalization". x (…, C), weight and bias (C), or Tensor{} for ones and
// zeros -> (…, C); with two axes x (…, A, B) and weight (A, B), and so on. A row with a NaN becomes NaN.
Tensor layer_norm(const Arg& x, const Tensor& weight = {}, const Tensor& bias = {}, const NormOptions& options = {});

// x / sqrt(mean(x^2) + epsilon) weight: Zhang, Sennrich 2019, "Root mean square layer normalization". Shapes as above.
Tensor rms_norm(const Arg& x, const Tensor& weight = {}, const NormOptions& options = {});

// Does as layer_norm does, but the rows are groups of channels of a sample, C / groups channels each with all axes that
// follow, and weight and bias have an element for each channel: Wu, He 2018, "Group normalization". x (N, C) or (N, C,
// …), weight and bias (C), or Tensor{} for ones and zeros -> like x. Throws Error unless C is a multiple of `groups`.
Tensor group_norm(const Arg& x, std::int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double epsilon = NormOptions{}.epsilon);

}  // namespace asyncgrad
