// Elementwise functions where a short formula would overflow, cancel or lose a sign.
#include <cmath>
#include <limits>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Elementwise, GatesVanishAtMinusInfinity) {
  Tensor x = parameter(float64_tensor({-infinity, -1000, infinity}, {3}));
  for (Tensor (*gate)(const Arg&) : {silu, gelu, gelu_tanh, hardswish, mish}) {
    const Tensor y = gate(x);
    EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{0, 0, infinity}));
    x.zero_grad();
    sum(y * float64_tensor({1, 1, 1}, {3})).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 0, 1}));
  }
  EXPECT_EQ(softplus(x).to_vector<double>(), (std::vector<double>{0, 0, infinity}));
}

TEST(Elementwise, SmallNumbersKeepTheirDigits) {
  const Tensor x = float64_tensor({1e-20, -1e-20}, {2});
  EXPECT_EQ(log1p(x).to_vector<double>(), (std::vector<double>{1e-20, -1e-20}));
  EXPECT_EQ(expm1(x).to_vector<double>(), (std::vector<double>{1e-20, -1e-20}));
  expect_near(gelu(full({1}, -9)), {-9 * std::erfc(9 / std::sqrt(2)) / 2}, 1e-22);
}

// A product with subnormal numbers takes some processors a hundred times as long: gates, and their gradients, are 0 there.
TEST(Elementwise, GatesVanishBeforeTheyAreSubnormal) {
  Tensor x = parameter(arange(-200.0, 0.0, 0.01));
  for (Tensor (*gate)(const Arg&) : {silu, gelu, gelu_tanh, mish}) {
    x.zero_grad();
    const Tensor y = gate(x);
    sum(y).backward();
    for (const Tensor& values : {y, x.grad()}) {
      int vanished = 0;
      for (const float value : values.to_vector<float>()) {
        ASSERT_NE(std::fpclassify(value), FP_SUBNORMAL) << value;
        vanished += value == 0 ? 1 : 0;
      }
      EXPECT_GT(vanished, 5000);
    }
  }
}

Tensor from(const std::vector<float>& numbers) {
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}
// Each result within 4 units in the last place of the standard library's, and what is not finite exactly.
void expect_ulps(const Tensor& y, const std::vector<double>& expected) {
  const std::vector<float> narrow = y.to_vector<float>();
  ASSERT_EQ(narrow.size(), expected.size());
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto right = static_cast<float>(expected[i]);
    if (!std::isfinite(right)) {
      EXPECT_TRUE(narrow[i] == right || (std::isnan(narrow[i]) && std::isnan(right))) << i << ": " << narrow[i];
    } else {
      const float unit = std::nextafter(std::abs(right), std::numeric_limits<float>::infinity()) - std::abs(right);
      EXPECT_LE(std::abs(narrow[i] - right), 4 * unit) << i << ": " << narrow[i] << " is not " << right;
    }
  }
}

TEST(Elementwise, HyperbolicFunctionsAreAccurateInTheirWholeRange) {
  const std::vector<float> numbers = {1e-30F, -1e-6F, 1e-4F,  0.1F,   -1.0F,  19.9F,
                                      20.1F,  88.9F,  -89.2F, 89.41F, 100.0F, -100.0F};
  const Tensor x = from(numbers);
  std::vector<double> sines, cosines;
  for (const float number : numbers) {
    sines.push_back(std::sinh(double{number}));
    cosines.push_back(std::cosh(double{number}));
  }
  expect_ulps(sinh(x), sines);
  expect_ulps(cosh(x), cosines);
  EXPECT_TRUE(std::signbit(sinh(full({1}, -0.0)).item()));
}

TEST(Elementwise, LogarithmsOfPowersAreWhole) {
  std::vector<float> powers, exponents, tens;
  for (int i = -149; i <= 127; ++i) {
    powers.push_back(std::ldexp(1.0F, i));
    exponents.push_back(static_cast<float>(i));
  }
  EXPECT_EQ(log2(from(powers)).to_vector<float>(), exponents);
  for (int i = 0; i <= 10; ++i) tens.push_back(static_cast<float>(std::pow(10.0, i)));
  EXPECT_EQ(log10(from(tens)).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  const Tensor edges = from({0, std::numeric_limits<float>::infinity(), -1});
  for (Tensor (*logarithm)(const Arg&) : {log2, log10}) expect_ulps(logarithm(edges), {-infinity, infinity, nan});
  expect_ulps(log2(from({0.999F, 1.0001F, 3e38F})),
              {std::log2(double{0.999F}), std::log2(double{1.0001F}), std::log2(double{3e38F})});
}

TEST(Elementwise, HypotOverflowsOnlyWithItsResult) {
  const std::vector<float> xs = {1e20F, 1e-30F, 0, -3, std::numeric_limits<float>::infinity(), 2e38F, 0},
                           ys = {1e20F, 1e-30F, 0, 4, std::numeric_limits<float>::quiet_NaN(), 3e38F, -5};
  std::vector<double> expected;
  for (std::size_t i = 0; i < xs.size(); ++i) expected.push_back(std::hypot(xs[i], ys[i]));
  expect_ulps(hypot(from(xs), from(ys)), expected);
}

TEST(Elementwise, RoundsHalvesToEven) {
  const Tensor x = float64_tensor({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e300}, {7});
  EXPECT_EQ(round(x).to_vector<double>(), (std::vector<double>{-2, -2, 0, 0, 2, 2, 1e300}));
  EXPECT_EQ(floor(x).to_vector<double>(), (std::vector<double>{-3, -2, -1, 0, 1, 2, 1e300}));
  EXPECT_EQ(sign(float64_tensor({-3, 0, infinity}, {3})).to_vector<double>(), (std::vector<double>{-1, 0, 1}));
}

// As in PyTorch from 2.7 on, which had -0.5 and 1.5 there before.
TEST(Elementwise, HardswishHasTheOuterGradientAtItsBounds) {
  const Tensor x = parameter(float64_tensor({-4, -3, -1.5, 0, 3, 4}, {6}));
  const Tensor gradient = grad(sum(hardswish(x)), {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(gradient.to_vector<double>(), (std::vector<double>{0, 0, 0, 0.5, 1, 1}));
  sum(gradient).backward();
  expect_near(x.grad(), {0, 0, 1.0 / 3, 1.0 / 3, 0, 0});
}

TEST(Elementwise, OfNaNIsNaN) {
  const Tensor x = float64_tensor({nan}, {1});
  for (Tensor (*function)(const Arg&) : {rsqrt, sin, cos, erf, log1p, expm1, floor, round, sign, silu, softplus, gelu,
                                         gelu_tanh, hardswish, selu, softsign, mish, leaky_relu, elu}) {
    EXPECT_TRUE(std::isnan(function(x).item()));
    EXPECT_TRUE(std::isnan(function(x.to(float32)).item()));
  }
  EXPECT_TRUE(std::isnan(clip(x, 0, 1).item()));
}

TEST(Elementwise, ZerosKeepTheirSigns) {
  for (const DType dtype : {float32, float64}) {
    for (Tensor (*function)(const Arg&) : {sin, tanh, erf, log1p, expm1, floor, round, sqrt}) {
      const std::vector<double> found = values(function(float64_tensor({-0.0, 0}, {2}).to(dtype)));
      EXPECT_TRUE(std::signbit(found[0]));
      EXPECT_FALSE(std::signbit(found[1]));
    }
    EXPECT_FALSE(std::signbit(sign(float64_tensor({-0.0}, {1}).to(dtype)).item()));
  }
}

// Formulas that take |x| to be accurate are smooth at 0 all the same.
TEST(Elementwise, HasTheDerivativesOfEveryOrderAtZero) {
  Tensor (*const functions[])(const Arg&) = {
      sigmoid,   softplus,
      silu,      gelu,
      gelu_tanh, mish,
      sinh,      cosh,
      tanh,      [](const Arg& x) { return logistic_loss(x, full({3}, 0.25, {.dtype = float64})); }};
  int number = 0;
  for (Tensor (*function)(const Arg&) : functions) {
    const Tensor x = parameter(float64_tensor({0, 1e-8, -1e-8}, {3}));
    Tensor y = function(x);
    for (int order = 1; order <= 4; ++order) {
      y = grad(sum(y), {x}, {}, {.create_graph = true})[0];
      const std::vector<double> at = y.to_vector<double>();
      EXPECT_NEAR(at[0], at[1], 1e-6) << "function " << number << ", order " << order;
      EXPECT_NEAR(at[0], at[2], 1e-6) << "function " << number << ", order " << order;
    }
    ++number;
  }
}

}  // namespace
}  // namespace asyncgrad::tests
