// Convolutions. All are queued and may wait for room in the queue; all are differentiable, any number of
// times. They throw Error at the call for int64, for shapes and options that do not fit, and for types or devices that
// differ. On a GPU they have the precision of core/math_mode.h, except for those of few outputs in a group, which are
// computed in float32, as all are on a CPU.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

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

}  // namespace asyncgrad
