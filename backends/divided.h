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

// Takes the last digit off a number: returns the remainder of the division by `base`, and leaves the quotient.
constexpr std::int64_t take_digit(std::int64_t& number, std::int64_t base) {
  const auto [quotient, remainder] = divided(number, base);
  number = quotient;
  return remainder;
}

// Divides many numbers by one, y > 0. It multiplies numbers below 2^31 (Granlund, Montgomery: Division by invariant
// integers using multiplication; PLDI 1994), which is several times as fast on a GPU.
class Divisor {
 public:
  constexpr explicit Divisor(std::int64_t y) : y_(y) {
    if (y >= limit) return;  // with these numbers the quotients are 0
    for (shift_ = 0; (std::int64_t{1} << shift_) < y;) ++shift_;
    const auto d = static_cast<std::uint64_t>(y);
    multiplier_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - d) << 32) / d + 1);
  }

  // x / y for x that is not negative.
  constexpr Divided operator()(std::int64_t x) const {
    if (x >= limit) return {x / y_, x % y_};
    const std::int64_t quotient = small_quotient(static_cast<std::uint32_t>(x));
    return {quotient, x - quotient * y_};
  }
  // The quotient of x below the limit.
  constexpr std::uint32_t small_quotient(std::uint32_t x) const {
    return (static_cast<std::uint32_t>(std::uint64_t{x} * multiplier_ >> 32) + x) >> shift_;
  }

  static constexpr std::int64_t limit = std::int64_t{1} << 31;

 private:
  std::int64_t y_;
  std::uint32_t multiplier_ = 0, shift_ = 31;
};

}  // namespace asyncgrad::detail
