// A number in an expression with a tensor, whose type it takes.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/location.h"

namespace asyncgrad {

// An integer or a double, and the line where it was written. Every arithmetic type except bool and long double converts
// to it implicitly. Throws Error for an integer that int64 cannot hold.
class Scalar {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, long double>)
      Scalar(T value, const char* file = __builtin_FILE(),  // NOLINT(google-explicit-constructor): `x + 1` is the point
             int line = __builtin_LINE())
      : Scalar(value, Location{file, line}) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, long double>)
      Scalar(T value, const Location& where)
      : where_(where) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<std::int64_t>(value)) throw_too_large();
      integer_ = static_cast<std::int64_t>(value);
      is_integer_ = true;
    } else {
      double_ = static_cast<double>(value);
    }
  }

  bool is_integer() const { return is_integer_; }
  const Location& where() const { return where_; }
  double as_double() const { return is_integer_ ? static_cast<double>(integer_) : double_; }
  // Throws Error if the value is not an integer or int64 cannot hold it.
  std::int64_t as_int64() const;
  // Throws Error, naming `operation`, if `dtype` cannot hold the value: 0.5 or 1e30 in int64, 1e300 or 2^53 + 1 in
  // float32, 2 in bool. Rounding a fraction is not an error; infinities and NaN are values of the floating types.
  void check_fits(DType dtype, const char* operation) const {
    // A shortcut: every type of computation holds such a number, and most numbers in programs are of this kind.
    if (is_integer_ && has_arithmetic(dtype) && integer_ >= -(1 << 24) && integer_ <= 1 << 24) return;
    check_large_fits(dtype, operation);
  }

 private:
  void check_large_fits(DType dtype, const char* operation) const;
  [[noreturn]] static void throw_too_large();

  std::int64_t integer_ = 0;
  double double_ = 0;
  Location where_;
  bool is_integer_ = false;
};

}  // namespace asyncgrad
