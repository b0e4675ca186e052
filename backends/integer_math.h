// The Maths of formulas.h for rows that have an integer form, or one for bool. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// Computes with one number. Overflow wraps around, as in processors.
struct IntegerMath {
  using V = std::int64_t;

  static constexpr V wrapped(std::uint64_t bits) { return static_cast<V>(bits); }
  static constexpr std::uint64_t bits(V x) { return static_cast<std::uint64_t>(x); }

  constexpr V set(double value) const { return static_cast<V>(value); }
  constexpr V add(V x, V y) const { return wrapped(bits(x) + bits(y)); }
  constexpr V sub(V x, V y) const { return wrapped(bits(x) - bits(y)); }
  constexpr V mul(V x, V y) const { return wrapped(bits(x) * bits(y)); }
  // Rounds down. It is 0 where y is 0. -2^63 is its own negative.
  constexpr V floor_divide(V x, V y) const {
    if (y == 0) return 0;
    if (y == -1) return neg(x);
    return x / y - (is_moved(x % y, y) ? 1 : 0);
  }
  constexpr V remainder(V x, V y) const {
    if (y == 0 || y == -1) return 0;
    return x % y + (is_moved(x % y, y) ? y : 0);
  }
  // For y < 0 it is 1 / x^-y without its fraction, and 0 where x is 0.
  constexpr V pow(V x, V y) const {
    if (y < 0) return x == 1 ? 1 : x != -1 ? 0 : y % 2 == 0 ? 1 : -1;
    V result = 1;
    for (V square = x; y != 0; y /= 2, square = mul(square, square)) {
      if (y % 2 != 0) result = mul(result, square);
    }
    return result;
  }
  constexpr V neg(V x) const { return wrapped(0 - bits(x)); }
  constexpr V floor(V x) const { return x; }
  constexpr V round(V x) const { return x; }
  constexpr V abs(V x) const { return x < 0 ? neg(x) : x; }
  constexpr V min(V x, V y) const { return x < y ? x : y; }
  constexpr V max(V x, V y) const { return x < y ? y : x; }
  constexpr bool equal(V x, V y) const { return x == y; }
  constexpr bool less(V x, V y) const { return x < y; }
  constexpr V select(bool mask, V x, V y) const { return mask ? x : y; }

 private:
  // Whether quotient and remainder have to be corrected by one y: C++ rounds a quotient toward 0, and its remainder has
  // the sign of x.
  static constexpr bool is_moved(V remainder, V y) { return remainder != 0 && (remainder < 0) != (y < 0); }
};

// Computes with one bool, which is 0 or 1.
struct BooleanMath {
  using V = std::uint8_t;

  constexpr V set(double value) const { return static_cast<V>(value); }
  constexpr V sub(V x, V y) const { return static_cast<V>(x - y); }
  constexpr bool equal(V x, V y) const { return x == y; }
  constexpr bool less(V x, V y) const { return x < y; }
  constexpr V select(bool mask, V x, V y) const { return mask ? x : y; }
};

}  // namespace asyncgrad::detail
