#include "asyncgrad/core/dtype.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

TEST(DType, HasTheSizeAndTheNameOfItsType) {
  EXPECT_STREQ(name(float32), "float32");
  EXPECT_STREQ(name(float64), "float64");
  EXPECT_STREQ(name(int64), "int64");
  EXPECT_STREQ(name(int32), "int32");
  EXPECT_STREQ(name(uint8), "uint8");
  EXPECT_STREQ(name(bfloat16), "bfloat16");
  EXPECT_STREQ(name(boolean), "bool");
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    detail::visit_dtype(dtype, [&]<class T>(T) {
      EXPECT_EQ(dtype_of<T>, dtype);
      EXPECT_EQ(size_bytes(dtype), sizeof(T)) << name(dtype);
    });
  }
}

TEST(DType, OfATypeOfTheLanguage) {
  EXPECT_EQ(dtype_of<float>, float32);
  EXPECT_EQ(dtype_of<double>, float64);
  EXPECT_EQ(dtype_of<std::int64_t>, int64);
  EXPECT_EQ(dtype_of<bool>, boolean);
  EXPECT_TRUE(is_floating(float64) && is_floating(bfloat16));
  EXPECT_FALSE(is_floating(int64) || is_floating(boolean));
  EXPECT_TRUE(has_arithmetic(float32) && has_arithmetic(float64) && has_arithmetic(int64));
  EXPECT_FALSE(has_arithmetic(int32) || has_arithmetic(uint8) || has_arithmetic(bfloat16) || has_arithmetic(boolean));
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
