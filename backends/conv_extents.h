// The extents of convolutions. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Under element i of the kernel, output u reads element u stride - padding + i dilation of the input, or zero if that is
// outside of [0, in).
struct ConvAxis {
  std::int64_t in, out, kernel, stride, padding, dilation;

  // The extents of the planes that are read and written, by the convolution or by the gradient of its inputs.
  constexpr std::int64_t read(bool of_inputs) const { return of_inputs ? out : in; }
  constexpr std::int64_t written(bool of_inputs) const { return of_inputs ? in : out; }
};

// The extents of one of the three operations, whose operands x, w and y, or their gradients, are these.
struct ConvExtents {
  std::int64_t batch, groups, channels, outputs;  // channels and outputs of one group
  ConvAxis height, width;

  ConvExtents(const KernelCall& call, int x, int w, int y)
      : batch(call.shape(x)[0]),
        groups(call.attributes<ConvAttributes>().groups),
        channels(call.shape(x)[1] / groups),
        outputs(call.shape(y)[1] / groups),
        height(axis(call, x, w, y, 0)),
        width(axis(call, x, w, y, 1)) {}

  constexpr std::int64_t taps() const { return height.kernel * width.kernel; }
  constexpr std::int64_t in_plane() const { return height.in * width.in; }
  constexpr std::int64_t out_plane() const { return height.out * width.out; }
  // The multiplications of all images and groups. The number is floating, so that it cannot overflow.
  double macs() const {
    const double of_output = static_cast<double>(channels) * static_cast<double>(taps());
    return of_output * static_cast<double>(outputs * groups) * static_cast<double>(batch) *
           static_cast<double>(out_plane());
  }
  // Sixteen multiplications and sums take about as long as the reading of an element elsewhere.
  std::int64_t cost() const { return static_cast<std::int64_t>(std::min(macs() / 16, 1e18)); }

 private:
  static ConvAxis axis(const KernelCall& call, int x, int w, int y, int i) {
    const auto& a = call.attributes<ConvAttributes>();
    const auto of_pair = static_cast<std::size_t>(i);
    return {call.shape(x)[2 + i], call.shape(y)[2 + i], call.shape(w)[2 + i],
            a.stride[of_pair],    a.padding[of_pair],   a.dilation[of_pair]};
  }
};

}  // namespace asyncgrad::detail
