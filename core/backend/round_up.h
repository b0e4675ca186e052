// Sizes in whole parts, of numbers that are not negative. Internal.
#pragma once

#include <concepts>
#include <type_traits>

namespace asyncgrad::detail {

// total / size, rounded up: how many parts of that size hold the total.
template <std::integral T>
constexpr T divided_up(T total, std::type_identity_t<T> size) {
  return (total + size - 1) / size;
}
// The smallest multiple that is not less.
template <std::integral T>
constexpr T rounded_up(T value, std::type_identity_t<T> multiple) {
  return divided_up(value, multiple) * multiple;
}

}  // namespace asyncgrad::detail
