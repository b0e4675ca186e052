// Elements of a tensor that lie apart, and copies of them. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Some elements of a tensor, in the order of `shape`: the place of one is offset + the sum of index times stride.
struct Region {
  Shape shape;
  std::array<std::int64_t, Shape::max_rank> strides{};
  std::int64_t offset = 0;

  std::int64_t stride(int axis) const { return strides[static_cast<std::size_t>(axis)]; }
  // Appends an innermost axis.
  void append(std::int64_t extent, std::int64_t stride);
};

// All elements of a tensor of this shape.
Region whole(const Shape& shape);
// Elements begin, begin + step, … before `end` of one axis, all counted from the front and within the axis.
Region sliced(Region region, int axis, std::int64_t begin, std::int64_t end, std::int64_t step);
Region permuted(const Region& region, std::span<const int> axes);
Region flipped(Region region, int axis);

// The elements as a tensor of their own, without history. `shape` is that of the result.
Tensor copy_out(CopyKind kind, const Tensor& x, const Region& region, const Shape& shape, Location where);
inline Tensor copy_out(CopyKind kind, const Tensor& x, const Region& region, Location where) {
  return copy_out(kind, x, region, region.shape, where);
}
// Copies `source`, which has as many elements, into those of `target`, of which no two coincide, or adds it to them.
// Without history. If the operation fails, the target keeps its old value if `keeps` is true, and has no value
// otherwise.
enum class Into : std::uint8_t { copies, adds };
enum class OldValue : std::uint8_t { kept, unfinished };
void copy_into(CopyKind kind, const Tensor& target, const Region& region, const Tensor& source, Into into,
               OldValue old_value, Location where);

// The region that the slices leave of a tensor of this shape. Throws Error, naming `operation`, for axes and positions
// that do not exist, for a step below 1, and for an axis that is named twice.
Region region_of(const char* operation, const Shape& shape, std::span<const Slice> slices);

}  // namespace asyncgrad::detail
