// Pooling and other sizes: windows of an input (N, C, H, W), see autograd/pool.h and autograd/interpolate.h. They have no
// parameters.
//
// Constructors throw Error for options that fit no input. Calls are queued and may wait for room. They throw Error as the
// operations do. Several threads may call the same one at once.
#pragma once

#include "asyncgrad/autograd/interpolate.h"
#include "asyncgrad/autograd/pool.h"
#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// The largest element of each window: (N, C, H, W) -> (N, C, P, Q), P = (H + 2 padding - kernel_size) / stride + 1,
// rounded down, and Q alike. The stride is the kernel_size unless given: MaxPool2d(3, {.stride = 2, .padding = 1}).
struct MaxPool2d {
  explicit MaxPool2d(Size2d kernel_size, PoolOptions options = {}, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return max_pool2d(x, kernel_size, options); }
  void members(Members&) {}

  Size2d kernel_size;
  PoolOptions options;
};

// The mean of each window, in which padding counts as 0. Shapes as above.
struct AvgPool2d {
  explicit AvgPool2d(Size2d kernel_size, PoolOptions options = {}, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return avg_pool2d(x, kernel_size, options); }
  void members(Members&) {}

  Size2d kernel_size;
  PoolOptions options;
};

// The same with one axis: (N, C, L) -> (N, C, M).
struct MaxPool1d {
  explicit MaxPool1d(std::int64_t kernel_size, Pool1dOptions options = {}, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return max_pool1d(x, kernel_size, options); }
  void members(Members&) {}

  std::int64_t kernel_size;
  Pool1dOptions options;
};
struct AvgPool1d {
  explicit AvgPool1d(std::int64_t kernel_size, Pool1dOptions options = {}, Location where = Location::current());
  Tensor operator()(const Arg& x) const { return avg_pool1d(x, kernel_size, options); }
  void members(Members&) {}

  std::int64_t kernel_size;
  Pool1dOptions options;
};

// interpolate() to planes that are `scale` times as high and wide: (N, C, H, W) -> (N, C, scale H, scale W). Throws
// Error for a scale below 1, and for align_corners with nearest.
struct Upsample {
  explicit Upsample(std::int64_t scale, InterpolateOptions options = {}, Location where = Location::current());
  Tensor operator()(const Arg& x) const;
  void members(Members&) {}

  std::int64_t scale;
  InterpolateOptions options;
};

// The mean of each channel: (N, C, H, W) -> (N, C). Throws Error for any other number of axes and for int64.
struct GlobalAvgPool2d {
  Tensor operator()(const Arg& x) const;
};

}  // namespace asyncgrad::nn
