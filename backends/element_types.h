// The choice of a kernel's element type, which the kernels of every backend begin with. Internal.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// As visit_dtype(), for types that are known to be floating.
template <class Function>
void visit_floating(DType dtype, Function function) {
  if (dtype == DType::float32) return function(float{});
  function(double{});
}

// A number in the type T of its tensor.
template <class T>
constexpr T number_as(Number number) {
  if constexpr (std::is_integral_v<T>) {
    return number.integer;
  } else {
    return static_cast<T>(number.floating);
  }
}

// The conversion of copy: it rounds towards zero, turns numbers that do not fit into the nearest integer that does, and
// NaN into 0.
template <class To, class From>
constexpr To converted(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr From limit = 9223372036854775808.0;  // 2^63
    if (value != value) return 0;                  // NOLINT(misc-redundant-expression): NaN
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value < -limit) return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

inline Kernel& kernel_of(Backend& backend, Op op) { return backend.kernels[static_cast<std::size_t>(op)]; }

}  // namespace asyncgrad::detail
