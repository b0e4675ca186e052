#include "asyncgrad/core/checks.h"

#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

std::string detail::types_str(std::span<const NamedOperand> operands) {
  std::string text;
  for (const NamedOperand& operand : operands) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", operand.name, name(operand.impl.dtype),
                        operand.impl.shape.str());
  }
  return text;
}

void detail::throw_undefined(const char* operation) {
  throw_error(operation, "a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

void detail::throw_types_differ(const char* operation, std::span<const NamedOperand> operands, const char* other,
                                DType wanted) {
  throw_error(operation,
              fmt::format("types differ: {}; {}{} converts {}", types_str(operands), other, to_str(wanted), other),
              ErrorKind::type);
}

void check_finite(const char* operation, const char* what, double value) {
  if (!std::isfinite(value)) throw_error(operation, fmt::format("{} must be finite, got {}", what, value));
}

void check_not_negative(const char* operation, const char* what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw_error(operation, fmt::format("{} must be finite and not negative, got {}", what, value));
}

void check_below_one(const char* operation, const char* what, double value) {
  check_not_negative(operation, what, value);
  if (value >= 1) throw_error(operation, fmt::format("{} must be less than 1, got {}", what, value));
}

void check_in_unit_interval(const char* operation, const char* what, double value) {
  if (!(value >= 0 && value <= 1)) throw_error(operation, fmt::format("{} must be in [0, 1], got {}", what, value));
}

void check_positive(const char* operation, const char* what, double value) {
  if (!(value > 0)) throw_error(operation, fmt::format("{} must be positive, got {}", what, value));
}

void check_at_least_one(const char* operation, const char* what, std::int64_t value) {
  if (value < 1) throw_error(operation, fmt::format("{} must be at least 1, got {}", what, value));
}

int checked_axis(const char* operation, const Shape& shape, int axis) {
  const int rank = shape.rank();
  if (axis < -rank || axis >= rank) throw_no_axis(operation, shape, axis);
  return shape.checked_axis(axis);
}

void throw_no_axis(const char* operation, const Shape& shape, int axis) {
  const int rank = shape.rank();
  throw_error(operation,
              fmt::format("there is no axis {} in {}; {}", axis, shape.str(),
                          rank == 0 ? "a scalar has none" : fmt::format("axes are {} to {}", -rank, rank - 1)),
              ErrorKind::index);
}

void throw_outside(const char* operation, const char* noun, std::int64_t index, std::int64_t position,
                   std::int64_t extent, const char* what) {
  throw_error(operation,
              fmt::format("{} {} at position {} is outside {} {}, which are numbered from 0", noun, index, position,
                          extent, what),
              ErrorKind::index);
}

}  // namespace asyncgrad
