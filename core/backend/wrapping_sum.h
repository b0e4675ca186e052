// x + y, which wraps around for integers. Internal.
#pragma once

#include <cstdint>
#include <type_traits>

namespace asyncgrad::detail {

template <class T>
constexpr T wrapping_sum(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
  } else {
    return static_cast<T>(x + y);
  }
}

}  // namespace asyncgrad::detail
