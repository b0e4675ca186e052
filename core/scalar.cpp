#include "asyncgrad/core/scalar.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

bool is_int64(double value) { return value == std::trunc(value) && value >= -0x1p63 && value < 0x1p63; }

}  // namespace

std::int64_t Scalar::as_int64() const {
  if (is_integer_) return integer_;
  if (!is_int64(double_)) throw_error("scalar", fmt::format("{} is not an integer of 64 bits", double_));
  return static_cast<std::int64_t>(double_);
}

void Scalar::check_large_fits(DType dtype, const char* operation) const {
  bool fits = true;
  if (dtype == DType::int64) {
    fits = is_integer_ || is_int64(double_);
  } else if (is_integer_) {
    // An integer must keep its value in the type, or a label or count would change silently.
    const double there =
        dtype == DType::float32 ? static_cast<double>(static_cast<float>(integer_)) : static_cast<double>(integer_);
    fits = is_int64(there) && static_cast<std::int64_t>(there) == integer_;
  } else if (dtype == DType::float32 && std::isfinite(double_)) {
    fits = std::isfinite(static_cast<float>(double_));
  }
  if (!fits) {
    throw_error(operation, is_integer_ ? fmt::format("{} cannot hold {}", name(dtype), integer_)
                                       : fmt::format("{} cannot hold {}", name(dtype), double_));
  }
}

void Scalar::throw_too_large() { throw_error("scalar", "an unsigned integer is larger than 2^63 - 1"); }

}  // namespace asyncgrad
