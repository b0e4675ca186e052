#include "asyncgrad/core/scalar.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

bool is_int64(double value) { return value == std::trunc(value) && value >= -0x1p63 && value < 0x1p63; }

template <class T>
double rounded_to(double value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<double>(static_cast<T>(static_cast<float>(value)));
}

template <class T>
bool fits_in(const Scalar& number) {
  const double value = number.as_double();
  if constexpr (std::is_integral_v<T>) {
    if (!number.is_integer() && !is_int64(value)) return false;
    const std::int64_t integer = number.as_int64();
    return std::int64_t{std::numeric_limits<T>::min()} <= integer &&
           integer <= std::int64_t{std::numeric_limits<T>::max()};
  } else {
    const double there = rounded_to<T>(value);
    if (!number.is_integer()) return !std::isfinite(value) || std::isfinite(there);
    // An integer must keep its value in the type, or a label or count would change silently.
    return is_int64(there) && static_cast<std::int64_t>(there) == number.as_int64();
  }
}

}  // namespace

std::int64_t Scalar::as_int64() const {
  if (is_integer_) return integer_;
  if (!is_int64(double_)) throw_error("scalar", fmt::format("{} is not an integer of 64 bits", double_));
  return static_cast<std::int64_t>(double_);
}

void Scalar::check_large_fits(DType dtype, const char* operation) const {
  const auto fits = [this](DType type) {
    return detail::visit_dtype(type, [this]<class T>(T) { return fits_in<T>(*this); });
  };
  if (fits(dtype)) return;
  const std::string value = is_integer_ ? fmt::to_string(integer_) : fmt::to_string(double_);
  for (const DType other : {int64, default_dtype(), float64}) {
    if (fits(other)) throw_error(operation, fmt::format("{} cannot hold {}; {} does", name(dtype), value, name(other)));
  }
  throw_error(operation, fmt::format("{} cannot hold {}", name(dtype), value));
}

void Scalar::throw_too_large() { throw_error("scalar", "an unsigned integer is larger than 2^63 - 1"); }

}  // namespace asyncgrad
