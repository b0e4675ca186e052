// The largest elements and the means of windows. All are queued and may wait for room in the queue; all are
// differentiable, any number of times. They throw Error at the call for int64, and for shapes and options that do not
// fit.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct PoolOptions {
  Size2d stride = 0;   // from one window to the next; 0: as wide as the kernel
  Size2d padding = 0;  // around the input; at most half of the kernel
};

// The largest element of each window of kernel_size elements, or NaN if the window has one; elements outside of x count
// as -inf: x (N, C, H, W) -> (N, C, P, Q), P = (H + 2 padding - kernel_size) / stride + 1, rounded down, and Q alike.
// The gradient goes to the first of equal elements, row by row. H and W are 1 or more.
Tensor max_pool2d(const Arg& x, Size2d kernel_size, const PoolOptions& options = {});
// The sum of each window divided by the window's number of elements, where elements outside of x count as 0. Shapes as
// above.
Tensor avg_pool2d(const Arg& x, Size2d kernel_size, const PoolOptions& options = {});

struct Pool1dOptions {
  std::int64_t stride = 0;   // from one window to the next; 0: as long as the kernel
  std::int64_t padding = 0;  // around the input; at most half of the kernel
};

// The same with one axis: x (N, C, L) -> (N, C, M), M = (L + 2 padding - kernel_size) / stride + 1, rounded down.
Tensor max_pool1d(const Arg& x, std::int64_t kernel_size, const Pool1dOptions& options = {});
Tensor avg_pool1d(const Arg& x, std::int64_t kernel_size, const Pool1dOptions& options = {});

}  // namespace asyncgrad
