// Division of indices. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

struct Divided {
  std::int64_t quotient, remainder;
};

// x / y for numbers that are not negative. It divides 32 bits where it can: 64-bit division is slow, above all on
// processors without an instruction for it, and few indices need it.
constexpr Divided divided(std::int64_t x, std::int64_t y) {
  const std::int64_t quotient =
      (x | y) >> 32 != 0 ? x / y : static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(y);
  return {quotient, x - quotient * y};
}

}  // namespace asyncgrad::detail
