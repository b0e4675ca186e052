#include "asyncgrad/backends/divided.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace asyncgrad::detail {

namespace {

TEST(Divided, IsQuotientAndRemainderOnBothSidesOf32Bits) {
  const std::int64_t edge = std::int64_t{1} << 32;
  for (const std::int64_t x : {std::int64_t{0}, std::int64_t{7}, edge - 1, edge, edge + 1, 1000 * edge + 17}) {
    for (const std::int64_t y : {std::int64_t{1}, std::int64_t{3}, edge - 1, edge, edge + 1}) {
      EXPECT_EQ(divided(x, y).quotient, x / y) << x << " / " << y;
      EXPECT_EQ(divided(x, y).remainder, x % y) << x << " % " << y;
    }
  }
}

TEST(Divisor, DividesOnBothSidesOf31Bits) {
  const std::int64_t edge = std::int64_t{1} << 31;
  for (const std::int64_t y : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{49},
                               std::int64_t{641}, edge / 2, edge / 2 + 1, edge - 1, edge, edge + 1, 5 * edge}) {
    const Divisor by_y(y);
    for (const std::int64_t x : {std::int64_t{0}, std::int64_t{1}, y - 1, y, y + 1, 1000 * y - 1, 1000 * y, edge - 2,
                                 edge - 1, edge, edge + 1, 1000 * edge + 17}) {
      EXPECT_EQ(by_y(x).quotient, x / y) << x << " / " << y;
      EXPECT_EQ(by_y(x).remainder, x % y) << x << " % " << y;
    }
  }
}

}  // namespace

}  // namespace asyncgrad::detail
