// Says what a pass of a convolution (conv.cpp) reads and writes. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/windows/conv_pass.h"

namespace asyncgrad::detail {

// A pass reads x and writes y, whichever operands they are.
template <class T>
struct ConvOperands {
  const T *x, *w, *bias;
  T* y;
  std::int64_t x_image = 0, x_plane = 0, y_image = 0, y_plane = 0, y_width = 0;
  std::int64_t w_output = 0, w_channel = 0, kernel_width = 0;  // distances in w

  const T* weight(const ConvPlan& plan, std::int64_t group) const {
    return w + group * std::max(plan.outputs * w_output, plan.channels * w_channel);
  }
};

}  // namespace asyncgrad::detail
