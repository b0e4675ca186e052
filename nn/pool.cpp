#include "asyncgrad/nn/pool.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

MaxPool2d::MaxPool2d(Size2d kernel_size, PoolOptions options) : kernel_size(kernel_size), options(options) {}

AvgPool2d::AvgPool2d(Size2d kernel_size, PoolOptions options) : kernel_size(kernel_size), options(options) {}

Tensor GlobalAvgPool2d::operator()(const Arg& x) const {
  if (x->rank() != 4) throw_error("GlobalAvgPool2d", fmt::format("needs x (N, C, H, W), got {}", x->shape().str()));
  return mean(x, {2, 3});
}

}  // namespace asyncgrad::nn
