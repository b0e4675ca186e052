#include "asyncgrad/core/dtype.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

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

TEST(DefaultDType, IsTheTypeOfWhatFactoriesAndLayersMake) {
  EXPECT_EQ(default_dtype(), float32);
  set_default_dtype(float64);
  EXPECT_EQ(zeros({2}).dtype(), float64);
  EXPECT_EQ(randn({2}).dtype(), float64);
  EXPECT_EQ(nn::Dense(2, 3).weight.dtype(), float64);
  EXPECT_EQ(Tensor::from({1, 2.5}, {2}).dtype(), float64);
  set_default_dtype(float32);
  EXPECT_EQ(zeros({2}).dtype(), float32);
  EXPECT_EQ(tests::message_of([] { set_default_dtype(int64); }),
            "[set_default_dtype] the default is float32 or float64, not int64");
}

}  // namespace
}  // namespace asyncgrad
