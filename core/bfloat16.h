// A floating-point number in 16 bits: the upper half of a float32.
#pragma once

#include <bit>
#include <cstdint>

namespace asyncgrad {

// It has float32's range and 8 significant bits. It is for storage: it converts to float without loss, and all
// arithmetic is done in float.
class BFloat16 {
 public:
  constexpr BFloat16() = default;
  // Rounds to the nearest number, and ties to the even one; NaN stays NaN. Larger numbers become infinite.
  explicit constexpr BFloat16(float value) : bits_(rounded(value)) {}
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits_ = bits;
    return value;
  }

  constexpr std::uint16_t bits() const { return bits_; }
  constexpr operator float() const {  // NOLINT(google-explicit-constructor): it loses nothing
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

 private:
  static constexpr std::uint16_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // The sum could carry a NaN's bits into infinity. Both are computed, so that a loop has no branch.
    const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
    const std::uint32_t nan = (bits >> 16) | 0x40, nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return static_cast<std::uint16_t>(is_nan ? nan : nearest);
  }

  std::uint16_t bits_ = 0;
};

}  // namespace asyncgrad
