// Convolution and pooling. All are queued and may wait for room in the queue; all are differentiable, any number of
// times. They throw Error at the call for int64, for shapes and options that do not fit, and for types or devices that
// differ. On a GPU convolutions have the precision of core/math_mode.h, except for those of few outputs in a group, which
// are computed in float32, as all are on a CPU.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// A number for the height and one for the width: `{2, 1}`, or `2` for both.
struct Size2d {
  constexpr Size2d(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Size2d(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
  std::int64_t height, width;
};

struct Conv1dOptions {
  std::int64_t stride = 1;    // from one output to the next; at least 1
  std::int64_t padding = 0;   // zeros before and after the input; at least 0
  std::int64_t dilation = 1;  // from one element under the kernel to the next; at least 1
  std::int64_t groups = 1;    // the channels and the outputs are cut into as many groups, which do not mix
};
struct Conv2dOptions {
  Size2d stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
};

// y[n, o, p, q] = bias[o] + the sum over c, i, j of
//   x[n, c, p stride - padding + i dilation, q stride - padding + j dilation] weight[o, c, i, j],
// where c are the channels of o's group and x is 0 outside: x (N, C, H, W), weight (O, C / groups, h, w), bias (O) or
// Tensor{} for none -> (N, O, P, Q), P = (H + 2 padding - dilation (h - 1) - 1) / stride + 1, rounded down, and Q
// alike. The kernel is not flipped, as in torch.nn.functional.conv2d. Beside the operands it takes at most 2 MiB for
// each thread. Whether 0 outside meets an infinite weight, which makes NaN, depends on the shapes.
Tensor conv2d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});
// The same with one axis: x (N, C, L), weight (O, C / groups, k) -> (N, O, M).
Tensor conv1d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

struct ConvTranspose1dOptions {
  std::int64_t stride = 1;          // from the place of one input to the next in the output; at least 1
  std::int64_t padding = 0;         // elements that are cut off at both ends of the output; at least 0
  std::int64_t output_padding = 0;  // elements more at the end; at least 0, and less than the stride or the dilation
  std::int64_t dilation = 1;        // from the place of one element of the kernel to the next; at least 1
  std::int64_t groups = 1;          // the channels and the outputs are cut into as many groups, which do not mix
};
struct ConvTranspose2dOptions {
  Size2d stride = 1, padding = 0, output_padding = 0, dilation = 1;
  std::int64_t groups = 1;
};

// The transposed convolution: conv2d's gradient with respect to its input, as an operation. Every x[n, c, p, q] adds
// x[n, c, p, q] weight[c, o, i, j] to y[n, o, p stride - padding + i dilation, q stride - padding + j dilation], for
// the outputs o of c's group, to which bias[o] is added: x (N, C, H, W), weight (C, O / groups, h, w), bias (O) or
// Tensor{} for none -> (N, O, P, Q), P = (H - 1) stride - 2 padding + dilation (h - 1) + output_padding + 1, and Q
// alike; both are at least 1. It is that of torch.nn.functional.conv_transpose2d.
Tensor conv_transpose2d(const Arg& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});
// The same with one axis: x (N, C, L), weight (C, O / groups, k) -> (N, O, M).
Tensor conv_transpose1d(const Arg& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

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

enum class Interpolation : std::uint8_t { nearest, bilinear };
struct InterpolateOptions {
  Interpolation mode = Interpolation::nearest;
  // bilinear: whether the centres of the corner elements stay in place; else their outer edges do
  bool align_corners = false;
};
// Planes of another size: x (N, C, H, W) -> (N, C, size). An element of the result at place i along an axis of `out`
// elements lies at s = (i + 1/2) H / out - 1/2 of x, or at i (H - 1) / (out - 1) with align_corners; nearest takes the
// element floor(i H / out), bilinear the mean of the two around s, weighted by their distance, along both axes. (As
// torch.nn.functional.interpolate.) Throws Error for a size below 1, for planes without elements, and for align_corners
// with nearest.
Tensor interpolate(const Arg& x, Size2d size, const InterpolateOptions& options = {});

}  // namespace asyncgrad
