#include "asyncgrad/core/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace asyncgrad {
namespace {

TEST(BFloat16, KeepsEveryValueOfItsOwn) {
  for (std::uint32_t bits = 0; bits < 1U << 16; ++bits) {
    const auto value = BFloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(static_cast<float>(value))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(static_cast<float>(value)))));
    } else {
      EXPECT_EQ(BFloat16(static_cast<float>(value)).bits(), bits);
    }
  }
}

// Numbers from 1 to 2 have eight significant bits, so that neighbours are 2^-7 apart.
TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(BFloat16(1 + 0x1p-9F), 1.0F);
  EXPECT_EQ(BFloat16(1 + 0x1p-8F), 1.0F);
  EXPECT_EQ(BFloat16(1 + 3 * 0x1p-8F), 1 + 0x1p-6F);
  EXPECT_EQ(BFloat16(std::nextafter(1 + 0x1p-8F, 2.0F)), 1 + 0x1p-7F);
  EXPECT_EQ(BFloat16(-1 - 3 * 0x1p-8F), -1 - 0x1p-6F);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(static_cast<float>(BFloat16(-0.0F))));
}

// Without their low bits some NaNs would be infinity, and rounding 0x7FFFFFFF up would make it -0.
TEST(BFloat16, KeepsNotANumber) {
  for (const std::uint32_t bits : {0x7F800001U, 0x7FFFFFFFU, 0xFF800001U}) {
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(bits)))));
  }
}

}  // namespace
}  // namespace asyncgrad
