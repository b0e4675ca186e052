// Takes indices apart, axis by axis. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/divided.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail::cuda {

// Divides by the extents of axes, which are not empty. The quotient along the outermost axis is 0.
class AxisDivisors {
 public:
  void set(int axis, std::int64_t extent) { extents_[axis].divide = Divisor(extent); }

  __device__ Divided operator()(int axis, std::int64_t index) const {
    return axis == 0 ? Divided{0, index} : extents_[axis].divide(index);
  }

 private:
  struct Extent {
    Divisor divide{1};
  };
  Extent extents_[Shape::max_rank];
};

}  // namespace asyncgrad::detail::cuda
