#include "asyncgrad/core/dtype.h"

#include <gtest/gtest.h>

namespace asyncgrad {
namespace {

TEST(DType, HasTheSizeAndTheNameOfItsType) {
  EXPECT_EQ(size_bytes(float32), sizeof(float));
  EXPECT_EQ(size_bytes(float64), sizeof(double));
  EXPECT_EQ(size_bytes(int64), sizeof(std::int64_t));
  EXPECT_STREQ(name(float32), "float32");
  EXPECT_STREQ(name(float64), "float64");
  EXPECT_STREQ(name(int64), "int64");
}

TEST(DType, OfATypeOfTheLanguage) {
  EXPECT_EQ(dtype_of<float>, float32);
  EXPECT_EQ(dtype_of<double>, float64);
  EXPECT_EQ(dtype_of<std::int64_t>, int64);
  EXPECT_TRUE(is_floating(float64));
  EXPECT_FALSE(is_floating(int64));
}

}  // namespace
}  // namespace asyncgrad
