#include "asyncgrad/core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

void Shape::append(std::int64_t extent) {
  if (rank_ == max_rank) throw_error("shape", fmt::format("more than {} axes: {} and {}", max_rank, str(), extent));
  if (extent < 0) throw_error("shape", fmt::format("negative extent {} of axis {}", extent, rank_));
  // In a shape without elements the axes of extent 0 do not count, so that every product of extents fits.
  std::int64_t product = numel_;
  if (numel_ == 0) {
    product = 1;
    for (const std::int64_t before : *this) product *= before == 0 ? 1 : before;
  }
  if (__builtin_mul_overflow(product, extent == 0 ? 1 : extent, &product)) {
    throw_error("shape", fmt::format("too many elements: {} times {}", str(), extent));
  }
  numel_ = numel_ == 0 || extent == 0 ? 0 : product;
  extents_[static_cast<std::size_t>(rank_++)] = extent;
}

Shape Shape::with(int axis, std::int64_t extent) const {
  const int replaced = checked_axis(axis);
  Shape result;
  for (int i = 0; i < rank_; ++i) result.append(i == replaced ? extent : (*this)[i]);
  return result;
}

std::string Shape::str() const { return fmt::format("({})", fmt::join(begin(), end(), ", ")); }

void NewShape::append(std::int64_t extent) {
  if (extent == -1) {
    if (filled_ >= 0) throw_error("shape", fmt::format("both axes {} and {} are -1", filled_, shape_.rank()));
    filled_ = shape_.rank();
  }
  shape_.append(extent == -1 ? 1 : extent);
}

Shape NewShape::of(const Shape& from, const char* operation) const {
  const std::int64_t numel = from.numel(), others = shape_.numel();
  if (filled_ < 0 && others != numel) {
    throw_error(operation, fmt::format("{} has {} elements, {} would have {}", from.str(), numel, str(), others));
  }
  if (filled_ < 0) return shape_;
  if (others == 0) throw_error(operation, fmt::format("any extent would do for the -1 of {}", str()));
  if (numel % others != 0) {
    throw_error(operation, fmt::format("{} has {} elements, which {} cannot hold", from.str(), numel, str()));
  }
  return shape_.with(filled_, numel / others);
}

std::string NewShape::str() const {
  std::vector<std::int64_t> extents(shape_.begin(), shape_.end());
  if (filled_ >= 0) extents[static_cast<std::size_t>(filled_)] = -1;
  return fmt::format("({})", fmt::join(extents, ", "));
}

void Shape::throw_too_large() { throw_error("shape", "an extent is larger than 2^63 - 1"); }

void Shape::throw_bad_axis(int axis) const { throw_no_axis("shape", *this, axis); }

}  // namespace asyncgrad
