// Takes indices apart, axis by axis, to find places in tensors. Internal.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "asyncgrad/backends/divided.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail::cuda {

// Where the elements of some axes, which are not empty, lie in `tensors` tensors, each with a stride along each axis.
// Indices and places that are numbers of 32 bits are computed in these, which takes a GPU half the time.
template <int tensors>
class AxisPlaces {
 public:
  struct Place {
    std::int64_t of[tensors] = {};
  };

  // Axes from the outermost one on.
  void add_axis(std::int64_t extent, const std::int64_t (&strides)[tensors]) {
    Axis& axis = axes_[count_++];
    axis.divide = Divisor(extent);
    axis.extent = extent;
    numel_ *= extent;
    for (int k = 0; k < tensors; ++k) {
      axis.strides[k] = strides[k];
      reach_[k] += extent * std::abs(strides[k]);
      is_small_ = is_small_ && numel_ < Divisor::limit && reach_[k] < Divisor::limit;
    }
  }
  // From the place of the first element.
  __device__ Place operator()(std::int64_t index) const {
    return is_small_ ? place(static_cast<int>(index)) : place(index);
  }

 private:
  struct Axis {
    Divisor divide{1};
    std::int64_t extent = 1, strides[tensors] = {};
  };

  template <class Index>
  __device__ Place place(Index index) const {
    Index places[tensors] = {};
    for (int i = count_ - 1; i >= 0; --i) {
      const Axis& axis = axes_[i];
      const Index quotient = i == 0 ? 0 : divided(axis, index),
                  rest = index - quotient * static_cast<Index>(axis.extent);
      for (int k = 0; k < tensors; ++k) places[k] += rest * static_cast<Index>(axis.strides[k]);
      index = quotient;
    }
    Place place;
    for (int k = 0; k < tensors; ++k) place.of[k] = places[k];
    return place;
  }
  static __device__ int divided(const Axis& axis, int index) {
    return static_cast<int>(axis.divide.small_quotient(static_cast<std::uint32_t>(index)));
  }
  static __device__ std::int64_t divided(const Axis& axis, std::int64_t index) { return axis.divide(index).quotient; }

  Axis axes_[Shape::max_rank];
  int count_ = 0;
  std::int64_t numel_ = 1, reach_[tensors] = {};
  bool is_small_ = true;
};

}  // namespace asyncgrad::detail::cuda
