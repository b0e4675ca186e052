#include "asyncgrad/core/checks.h"

#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

void detail::throw_undefined(const char* operation) {
  throw_error(operation, "a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

void check_not_negative(const char* operation, const char* what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw_error(operation, fmt::format("{} must be finite and not negative, got {}", what, value));
}

void check_part(const char* operation, const char* what, double value) {
  check_not_negative(operation, what, value);
  if (value >= 1) throw_error(operation, fmt::format("{} must be less than 1, got {}", what, value));
}

void check_at_least_one(const char* operation, const char* what, std::int64_t value) {
  if (value < 1) throw_error(operation, fmt::format("{} must be at least 1, got {}", what, value));
}

}  // namespace asyncgrad
