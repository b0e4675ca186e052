// Division that rounds down, of floating numbers. Internal.
#pragma once

#include <cmath>

namespace asyncgrad::detail {

// Python's and NumPy's x % y: the result has the sign of y, even if it is 0, and is NaN where y is 0 or x is infinite.
// fmod is exact and has the sign of x.
template <class T>
constexpr T floored_remainder(T x, T y) {
  const T remainder = std::fmod(x, y);
  if (remainder == 0) return std::copysign(remainder, y);
  return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

// Python's and NumPy's x // y: the integer q for which x = q y + floored_remainder(x, y), and x / y where y is 0.
// floor(x / y) is too large if the quotient is rounded up to an integer.
template <class T>
constexpr T floored_quotient(T x, T y) {
  if (y == 0) return x / y;
  const T remainder = std::fmod(x, y);
  const bool is_moved = remainder != 0 && (remainder < 0) != (y < 0);
  const T quotient = (x - remainder) / y - (is_moved ? T(1) : T(0));
  if (quotient == 0) return std::copysign(T(0), x / y);
  const T whole = std::floor(quotient);  // the quotient is an integer but for its rounding
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}

}  // namespace asyncgrad::detail
