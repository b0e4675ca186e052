#include "asyncgrad/autograd/creation.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Creation, Fills) {
  EXPECT_EQ(zeros({2}).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(ones({2}, {.dtype = float64}).to_vector<double>(), (std::vector<double>{1, 1}));
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(full({}, large, {.dtype = int64}).item<std::int64_t>(), large);
  EXPECT_EQ(full({1, 1}, 0.5).item(), 0.5);
}

TEST(Creation, CountsUpTo) {
  EXPECT_EQ(arange(0, 3).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(arange(1, 0, -0.25, {.dtype = float64}).to_vector<double>(), (std::vector<double>{1, 0.75, 0.5, 0.25}));
  EXPECT_EQ(arange(5, -4, -3, {.dtype = int64}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{5, 2, -1}));
  EXPECT_EQ(arange(3, 3).numel(), 0);
  EXPECT_EQ(arange(3, 2).numel(), 0);
}

TEST(Creation, LinspaceAndEye) {
  EXPECT_EQ(linspace(0, 1, 5, {.dtype = float64}).to_vector<double>(), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(3, -1, 1).to_vector<float>(), std::vector<float>{3});
  EXPECT_EQ(linspace(0.1, 0.7, 7, {.dtype = float64}).to_vector<double>().back(), 0.7);
  EXPECT_EQ(linspace(0, 1, 0).shape(), Shape(0));
  EXPECT_EQ(eye(2, 3, 0, {.dtype = int64}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(2, 3, 1).to_vector<float>(), (std::vector<float>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(sum(eye(2, 3, -7)).item(), 0);
  EXPECT_EQ(eye(2).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(message_of([] { linspace(0, 1, -1); }), "[linspace] count must not be negative, got -1");
  EXPECT_EQ(message_of([] { eye(-1, 2); }), "[eye] extents must not be negative, got (-1, 2)");
}

TEST(Creation, DrawsFromTheGeneratorInTheOrderOfCalls) {
  Generator one(7), other(7);
  const Tensor a = uniform({5}, -1, 2, {.generator = &one}), b = uniform({5}, -1, 2, {.generator = &one});
  EXPECT_EQ(uniform({5}, -1, 2, {.generator = &other}).to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(uniform({5}, -1, 2, {.generator = &other}).to_vector<float>(), b.to_vector<float>());
  EXPECT_NE(a.to_vector<float>(), b.to_vector<float>());
}

// No two calls use the same random number, because each call takes all that it uses.
TEST(Creation, NeverDrawsANumberTwice) {
  for (const DType dtype : {float32, float64}) {
    Generator generator(1);
    std::vector<double> all;
    for (int call = 0; call < 4; ++call) {
      for (const double value : values(normal({64}, 0, 1, {.dtype = dtype, .generator = &generator}))) {
        all.push_back(value);
      }
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << name(dtype);
  }
}

TEST(Creation, DistributesAsAsked) {
  Generator generator(3);
  for (const DType dtype : {float32, float64}) {
    const Tensor x = uniform({20000}, -1, 3, {.dtype = dtype, .generator = &generator});
    EXPECT_NEAR(mean(x).item(), 1, 0.05);
    EXPECT_GE(-max(-x, 0).item(), -1);
    EXPECT_LE(max(x, 0).item(), 3);
    const Tensor y = normal({20000}, 2, 0.5, {.dtype = dtype, .generator = &generator});
    EXPECT_NEAR(mean(y).item(), 2, 0.02);
    EXPECT_NEAR(mean(square(y - 2)).item(), 0.25, 0.02);
  }
}

TEST(Creation, RefusesWhatMakesNoSense) {
  EXPECT_EQ(message_of([] { full({2}, 0.5, {.dtype = int64}); }), "[full] int64 cannot hold 0.5; float32 does");
  EXPECT_EQ(message_of([] { arange(0, 1, 0); }), "[arange] the step from 0 to 1 must not be 0");
  EXPECT_EQ(message_of([] { arange(0.0, INFINITY); }),
            "[arange] the number of elements is not finite: start 0, stop inf, step 1; all of them must be, and the "
            "step not too small");
  EXPECT_EQ(
      message_of([] { uniform({2}, 1, 0); }),
      "[uniform] the bounds 1 and 0 are no finite interval in float32; the first one must not be above the second");
  EXPECT_EQ(message_of([] { uniform({2}, -3e38, 3e38); }),
            "[uniform] the bounds -3e+38 and 3e+38 are no finite interval in float32; the first one must not be above "
            "the second");
  EXPECT_EQ(
      message_of([] { uniform({2}, 0, 1e39); }),
      "[uniform] the bounds 0 and 1e+39 are no finite interval in float32; the first one must not be above the second");
  EXPECT_EQ(message_of([] { uniform({2}, -1e308, 1e308, {.dtype = float64}); }),
            "[uniform] the bounds -1e+308 and 1e+308 are no finite interval in float64; the first one must not be "
            "above the second");
  EXPECT_EQ(message_of([] { normal({2}, 0, -1); }),
            "[normal] a normal distribution cannot have mean 0 and standard deviation -1 in float32; both must be "
            "finite, and the deviation not negative");
  EXPECT_EQ(message_of([] { normal({2}, 0, 1e39); }),
            "[normal] a normal distribution cannot have mean 0 and standard deviation 1e+39 in float32; both must be "
            "finite, and the deviation not negative");
  EXPECT_EQ(message_of([] { randn({2}, {.dtype = int64}); }),
            "[normal] there are no random numbers of type int64, as wanted for (2); randint() gives integers");
  EXPECT_THAT(message_of([] { zeros({2}, {.device = "cuda:100"}); }),
              testing::StartsWith("[device] there is no cuda:100 here, only cpu"));
}

TEST(Creation, AParameterIsTheTensorItselfUnlessThatIsConst) {
  Tensor x = ones({2});
  EXPECT_EQ(parameter(x).impl(), x.impl());
  EXPECT_TRUE(x.requires_grad());

  const Tensor data = ones({2});
  Tensor leaf = parameter(data);
  EXPECT_FALSE(data.requires_grad());
  EXPECT_TRUE(leaf.requires_grad() && leaf.is_leaf());
  {
    const NoGrad no_grad;
    leaf.fill_(3);
  }
  EXPECT_EQ(data.to_vector<float>(), std::vector<float>({3, 3}));  // they share the values
  const Tensor constant = leaf;
  EXPECT_EQ(parameter(constant).impl(), leaf.impl());
  const Tensor result = leaf * 2;
  EXPECT_THAT(message_of([&] { parameter(result); }), testing::HasSubstr("is a result of"));
}

}  // namespace
}  // namespace asyncgrad::tests
