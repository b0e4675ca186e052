// The Math of formulas.h on a device. Internal.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "asyncgrad/backends/floored_division.h"
#include "asyncgrad/backends/integer_math.h"

namespace asyncgrad::detail::cuda {

template <class T>
struct FloatingMath {
  __device__ T set(double value) const { return static_cast<T>(value); }
  __device__ T add(T x, T y) const { return x + y; }
  __device__ T sub(T x, T y) const { return x - y; }
  __device__ T mul(T x, T y) const { return x * y; }
  __device__ T div(T x, T y) const { return x / y; }
  __device__ T min(T x, T y) const { return x != x ? x : y != y ? y : x < y ? x : y; }
  __device__ T max(T x, T y) const { return x != x ? x : y != y ? y : x > y ? x : y; }
  __device__ T neg(T x) const { return -x; }
  __device__ T abs(T x) const { return std::fabs(x); }
  __device__ T flush(T x) const { return std::fabs(x) < std::numeric_limits<T>::min() ? T{} : x; }
  __device__ T sqrt(T x) const { return std::sqrt(x); }
  __device__ T exp(T x) const { return std::exp(x); }
  __device__ T log(T x) const { return std::log(x); }
  __device__ T floor(T x) const { return std::floor(x); }
  __device__ T round(T x) const { return std::nearbyint(x); }
  __device__ T expm1(T x) const { return std::expm1(x); }
  __device__ T log1p(T x) const { return std::log1p(x); }
  __device__ T log2(T x) const { return std::log2(x); }
  __device__ T log10(T x) const { return std::log10(x); }
  __device__ T sin(T x) const { return std::sin(x); }
  __device__ T cos(T x) const { return std::cos(x); }
  __device__ T tanh(T x) const { return std::tanh(x); }
  __device__ T erf(T x) const { return std::erf(x); }
  __device__ T erfc(T x) const { return std::erfc(x); }
  __device__ T pow(T x, T y) const { return std::pow(x, y); }
  __device__ T floor_divide(T x, T y) const { return floored_quotient(x, y); }
  __device__ T remainder(T x, T y) const { return floored_remainder(x, y); }
  __device__ bool equal(T x, T y) const { return x == y; }
  __device__ bool less(T x, T y) const { return x < y; }
  __device__ T select(bool mask, T x, T y) const { return mask ? x : y; }
};

template <class T>
using Math = std::conditional_t<std::is_same_v<T, std::uint8_t>, BooleanMath,
                                std::conditional_t<std::is_integral_v<T>, IntegerMath, FloatingMath<T>>>;

}  // namespace asyncgrad::detail::cuda
