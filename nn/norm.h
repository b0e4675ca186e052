// Layers that normalise rows: layer_norm, rms_norm and group_norm with parameters.
#pragma once

#include "asyncgrad/autograd/norm.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct LayerNormOptions {
  double epsilon = NormOptions{}.epsilon;
  bool bias = true;
  DType dtype = default_dtype();
  Device device = default_device();
};

// (x - mean) / sqrt(variance + epsilon) weight + bias over the last axes: x (…, C), weight and bias (C) -> (…, C). The
// weight starts with ones, the bias with zeros. It does the same in training and evaluation.
struct LayerNorm {
  // `row` has the extents of the last axes: LayerNorm(C), LayerNorm(Shape{A, B}). Queues the initial values; may wait
  // for room. Throws Error for a row without axes or elements, an epsilon below 0, and a type other than float32 and
  // float64.
  explicit LayerNorm(const Shape& row, LayerNormOptions options = {}, Location where = Location::current());

  // Queued; may wait for room. Throws Error if x does not end in the axes of the weight, or if its type or device is
  // not that of the weight. Several threads may call a const LayerNorm at once.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;  // Tensor{} without a bias
  double epsilon;
};

struct RMSNormOptions {
  double epsilon = NormOptions{}.epsilon;
  DType dtype = default_dtype();
  Device device = default_device();
};

// x / sqrt(mean(x^2) + epsilon) weight over the last axes. In everything else it is as LayerNorm.
struct RMSNorm {
  explicit RMSNorm(const Shape& row, RMSNormOptions options = {}, Location where = Location::current());

  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  double epsilon;
};

struct GroupNormOptions {
  double epsilon = NormOptions{}.epsilon;
  bool affine = true;  // whether there are a weight, which starts with ones, and a bias, which starts with zeros
  DType dtype = default_dtype();
  Device device = default_device();
};

// (x - mean) / sqrt(variance + epsilon) weight + bias over groups of channels of each sample: x (N, C) or (N, C, …),
// weight and bias (C) -> like x. It does the same in training and evaluation. (torch.nn.GroupNorm.)
struct GroupNorm {
  // Queues the initial values; may wait for room. Throws Error for less than one group, unless the channels are a
  // multiple of the groups, and for what LayerNorm refuses.
  GroupNorm(std::int64_t groups, std::int64_t channels, GroupNormOptions options = {},
            Location where = Location::current());

  // Queued; may wait for room. Throws Error for another number of channels, and as group_norm does. Several threads may
  // call a const GroupNorm at once.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight, bias;  // Tensor{} unless affine
  std::int64_t groups, channels;
  double epsilon;
};

struct InstanceNormOptions {
  double epsilon = NormOptions{}.epsilon;
  bool affine = false;  // as in GroupNormOptions
  DType dtype = default_dtype();
  Device device = default_device();
};

// GroupNorm in which every channel is a group: x (N, C, …) with more than one element in a channel -> like x. (Ulyanov,
// Vedaldi and Lempitsky 2016, "Instance Normalization"; torch.nn.InstanceNorm2d without running statistics.)
struct InstanceNorm : GroupNorm {
  explicit InstanceNorm(std::int64_t channels, InstanceNormOptions options = {}, Location where = Location::current());

  // Throws Error for one element in a channel, too: that would always become 0.
  Tensor operator()(const Arg& x) const;
};

}  // namespace asyncgrad::nn
