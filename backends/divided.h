// Division of indices. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

struct Divided {
  std::int64_t quotient, remainder;
};

// x / y of numbers that are not negative. Division of 64 bits is slow, above all where there is no instruction for it,
// and few indices need it.
constexpr Divided divided(std::int64_t x, std::int64_t y) {
  const std::int64_t quotient =
      (x | y) >> 32 != 0 ? x / y : static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(y);
  return {quotient, x - quotient * y};
}

}  // namespace asyncgrad::detail
