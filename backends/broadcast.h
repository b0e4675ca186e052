// Reads inputs whose shapes are broadcast to that of the output. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/backends/divided.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

inline constexpr int max_broadcast_inputs = 3;

// The output's axes. Adjacent axes are joined wherever every input allows it, so that there are as few axes as
// possible. Each input's stride along an axis is in elements, and 0 if the input is repeated along it; along the last
// axis it is 0 or 1.
class Broadcast {
 public:
  // `shapes[k]` is broadcast to `out` as in numpy; null stands for a single element.
  Broadcast(const Shape& out, const std::array<const Shape*, max_broadcast_inputs>& shapes, int inputs);

  int rank() const { return rank_; }
  // The extent of the last axis; 1 for a scalar.
  std::int64_t columns() const { return rank_ == 0 ? 1 : extents_[last()]; }
  // The stride of input k along the last axis: 0 or 1.
  int column_step(int input) const { return rank_ == 0 ? 0 : static_cast<int>(strides_[index(input)][last()]); }
  std::int64_t extent(int axis) const { return extents_[index(axis)]; }
  std::int64_t stride(int input, int axis) const { return strides_[index(input)][index(axis)]; }
  // The element of input k that belongs to element `position` of the output.
  constexpr std::int64_t offset(int input, std::int64_t position) const {
    const auto& strides = strides_[index(input)];
    std::int64_t offset = 0;
    for (int axis = rank_ - 1; axis > 0; --axis) {
      const Divided parts = divided(position, extents_[index(axis)]);
      offset += parts.remainder * strides[index(axis)];
      position = parts.quotient;
    }
    return offset + position * strides[0];
  }

 private:
  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::size_t last() const { return index(rank_ - 1); }

  int rank_ = 0;
  std::array<std::int64_t, Shape::max_rank> extents_{};
  std::array<std::array<std::int64_t, Shape::max_rank>, max_broadcast_inputs> strides_{};
};

}  // namespace asyncgrad::detail
