// The order by which every backend, and unique(), sorts. Internal.
#pragma once

#include <type_traits>

namespace asyncgrad::detail {

// NaN counts as the largest, and as equal to NaN.
template <class T>
constexpr bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

}  // namespace asyncgrad::detail
