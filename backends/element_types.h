// The choice of an element type, with which the kernels of every backend begin. Internal.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Does as visit_dtype() does, for types that are known to be float32 or float64.
template <class Function>
void visit_floating(DType dtype, Function function) {
  if (dtype == DType::float32) return function(float{});
  function(double{});
}

// Does as visit_dtype() does, for types in which operations compute: float32, float64 and int64.
template <class Function>
void visit_arithmetic(DType dtype, Function function) {
  if (dtype == DType::int64) return function(std::int64_t{});
  visit_floating(dtype, function);
}

// Does the same, and has bfloat16, too: the types in which gradients are added.
template <class Function>
void visit_summed(DType dtype, Function function) {
  if (dtype == DType::bfloat16) return function(BFloat16{});
  visit_arithmetic(dtype, function);
}

// Calls function(U{}) for an unsigned type as large as the elements, for kernels that only move them.
template <class Function>
void visit_size(DType dtype, Function function) {
  switch (size_bytes(dtype)) {
    case 1:
      return function(std::uint8_t{});
    case 2:
      return function(std::uint16_t{});
    case 4:
      return function(std::uint32_t{});
    default:
      return function(std::uint64_t{});
  }
}

// A number in the type T of its tensor.
template <class T>
constexpr T number_as(Number number) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(number.integer);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(number.floating));
  } else {
    return static_cast<T>(number.floating);
  }
}

// The conversion of copy: a floating number is rounded towards zero, or becomes the nearest integer that the type has,
// and NaN 0; an integer keeps its low bits. Numbers other than 0 are true. bfloat16 is rounded from float32.
template <class To, class From>
constexpr To converted(From value) {
  if constexpr (std::is_same_v<From, BFloat16> && !std::is_same_v<To, BFloat16>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    constexpr auto lowest = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;  // a power of two
    // Without branches, so that a loop converts several at a time. A NaN is neither of these.
    const bool is_large = value >= beyond, is_small = value < lowest;
    const From inside = (!is_large & (value >= lowest)) ? value : From{0};
    const To nearest = is_large ? std::numeric_limits<To>::max() : static_cast<To>(inside);
    return is_small ? std::numeric_limits<To>::min() : nearest;
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace asyncgrad::detail
