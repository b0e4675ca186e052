#include "asyncgrad/core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

Shape::Shape(std::span<const std::int64_t> extents) {
  for (const std::int64_t extent : extents) append(extent);
}

void Shape::append(std::int64_t extent) {
  if (rank_ == max_rank) throw_error("shape", fmt::format("more than {} axes: {} and {}", max_rank, str(), extent));
  if (extent < 0) throw_error("shape", fmt::format("negative extent {} of axis {}", extent, rank_));
  if (__builtin_mul_overflow(numel_, extent, &numel_)) {
    throw_error("shape", fmt::format("too many elements: {} times {}", str(), extent));
  }
  extents_[static_cast<std::size_t>(rank_++)] = extent;
}

Shape Shape::with(int axis, std::int64_t extent) const {
  const int replaced = checked_axis(axis);
  Shape result;
  for (int i = 0; i < rank_; ++i) result.append(i == replaced ? extent : (*this)[i]);
  return result;
}

std::string Shape::str() const { return fmt::format("({})", fmt::join(begin(), end(), ", ")); }

void Shape::throw_too_large() { throw_error("shape", "an extent is larger than 2^63 - 1"); }

void Shape::throw_bad_axis(int axis) const { throw_error("shape", fmt::format("no axis {} in {}", axis, str())); }

}  // namespace asyncgrad
