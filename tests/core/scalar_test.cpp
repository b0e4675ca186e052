#include "asyncgrad/core/scalar.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

std::string fit(const Scalar& value, DType dtype) {
  return message_of([&] { value.check_fits(dtype, "full"); });
}
const std::string fits = "nothing was thrown";

TEST(Scalar, KeepsIntegersAndDoublesApart) {
  EXPECT_TRUE(Scalar(3).is_integer());
  EXPECT_TRUE(Scalar(std::size_t{3}).is_integer());
  EXPECT_FALSE(Scalar(3.0).is_integer());
  EXPECT_FALSE(Scalar(3.0F).is_integer());
  EXPECT_EQ(Scalar(3).as_double(), 3.0);
  EXPECT_EQ(Scalar(std::numeric_limits<std::int64_t>::min()).as_int64(), std::numeric_limits<std::int64_t>::min());
}

TEST(Scalar, IsAnIntegerOnlyIfItIsOne) {
  EXPECT_EQ(Scalar(-7.0).as_int64(), -7);
  EXPECT_EQ(message_of([] { static_cast<void>(Scalar(0.5).as_int64()); }), "[scalar] 0.5 is not an integer of 64 bits");
  EXPECT_NE(message_of([] { static_cast<void>(Scalar(0x1p63).as_int64()); }), fits);
  EXPECT_EQ(message_of([] { static_cast<void>(Scalar(-0x1p63).as_int64()); }), fits);
  EXPECT_EQ(message_of([] { Scalar{std::numeric_limits<std::uint64_t>::max()}; }),
            "[scalar] an unsigned integer is larger than 2^63 - 1");
}

TEST(Scalar, FitsInt64IfWhole) {
  EXPECT_EQ(fit(std::numeric_limits<std::int64_t>::max(), int64), fits);
  EXPECT_EQ(fit(1e18, int64), fits);
  EXPECT_EQ(fit(0.5, int64), "[full] int64 cannot hold 0.5; float32 does");
  EXPECT_EQ(fit(1e30, int64), "[full] int64 cannot hold 1e+30; float32 does");
  EXPECT_NE(fit(std::numeric_limits<double>::quiet_NaN(), int64), fits);
  EXPECT_NE(fit(std::numeric_limits<double>::infinity(), int64), fits);
}

TEST(Scalar, FitsFloatsIfAnIntegerSurvives) {
  EXPECT_EQ(fit(1 << 24, float32), fits);
  EXPECT_EQ(fit((1 << 24) + 1, float32), "[full] float32 cannot hold 16777217; int64 does");
  EXPECT_EQ(fit((1 << 24) + 1, float64), fits);
  EXPECT_EQ(fit((std::int64_t{1} << 53) + 1, float64), "[full] float64 cannot hold 9007199254740993; int64 does");
  EXPECT_NE(fit(std::numeric_limits<std::int64_t>::max(), float64), fits);
}

TEST(Scalar, FitsFloatsRoundedButNotOverflown) {
  EXPECT_EQ(fit(0.1, float32), fits);
  EXPECT_EQ(fit(1e300, float32), "[full] float32 cannot hold 1e+300; float64 does");
  EXPECT_EQ(fit(1e300, float64), fits);
  EXPECT_EQ(fit(std::numeric_limits<double>::infinity(), float32), fits);
  EXPECT_EQ(fit(std::numeric_limits<double>::quiet_NaN(), float32), fits);
}

TEST(Scalar, FitsTheTypesOfStorage) {
  EXPECT_EQ(fit(255, uint8), fits);
  EXPECT_EQ(fit(256, uint8), "[full] uint8 cannot hold 256; int64 does");
  EXPECT_EQ(fit(-1, uint8), "[full] uint8 cannot hold -1; int64 does");
  EXPECT_EQ(fit(7.0, uint8), fits);
  EXPECT_EQ(fit(0.5, uint8), "[full] uint8 cannot hold 0.5; float32 does");
  EXPECT_EQ(fit(std::int64_t{1} << 31, int32), "[full] int32 cannot hold 2147483648; int64 does");
  EXPECT_EQ(fit(-(std::int64_t{1} << 31), int32), fits);
  EXPECT_EQ(fit(1, boolean), fits);
  EXPECT_EQ(fit(2, boolean), "[full] bool cannot hold 2; int64 does");
  EXPECT_EQ(fit(256, bfloat16), fits);
  EXPECT_EQ(fit(257, bfloat16), "[full] bfloat16 cannot hold 257; int64 does");
  EXPECT_EQ(fit(0.1, bfloat16), fits);
  EXPECT_EQ(fit(3.4e38, bfloat16), "[full] bfloat16 cannot hold 3.4e+38; float32 does");
}

TEST(Scalar, KnowsItsLine) {
  const Scalar value = 1;
  EXPECT_EQ(value.where().line, __LINE__ - 1);
  EXPECT_TRUE(std::string_view(value.where().file).ends_with("scalar_test.cpp"));
}

}  // namespace
}  // namespace asyncgrad
