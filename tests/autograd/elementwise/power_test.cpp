// Powers and divisions.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

// Vectors of frequent cases and single elements of others go different ways.
TEST(Pow, IsThatOfTheStandardLibraryForAllSigns) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> bases = {-3, -2.5F, -1, -0.7F, -1e-20F, -1e20F, 0.3F, 1, 2, 7.5F, 0, -0.0F, inf, -inf, nan};
  const std::vector<float> exponents = {4,     5,   -3, -2,   1,           0.5F,        -1.5F, 2.5F,
                                        1e-3F, 101, 0,  1e9F, 16777215.0F, -8388607.0F, inf,   nan};
  const auto count = static_cast<std::int64_t>(bases.size());
  for (const float exponent : exponents) {
    for (const std::int64_t usual : {count, std::int64_t{10}}) {  // the first ten are frequent cases
      const Tensor x = tile(Tensor::from(bases, {count}).slice(0, usual), {16});
      const std::vector<float> z = pow(x, full({}, exponent)).to_vector<float>();
      for (std::size_t i = 0; i < z.size(); ++i) {
        const float base = bases[i % static_cast<std::size_t>(usual)], expected = std::pow(base, exponent);
        SCOPED_TRACE(std::to_string(base) + "^" + std::to_string(exponent));
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(z[i]));
        } else {
          EXPECT_FLOAT_EQ(z[i], expected);
        }
      }
    }
  }
}

// For some exponents pow has the bits of a simpler expression, which is near the power.
TEST(Pow, HasFormsForSomeNumbers) {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = random64({1000}, 7, 0.01, 40).to(dtype);
    const std::pair<double, Tensor> forms[] = {{2, square(x)},   {3, x * (x * x)}, {0.5, sqrt(x)},
                                               {-0.5, rsqrt(x)}, {-1, 1 / x},      {1, x}};
    for (const auto& [exponent, form] : forms) {
      SCOPED_TRACE(exponent);
      const Tensor power = pow(x, exponent);
      EXPECT_EQ(values(power), values(form));
      expect_near(power, values(pow(x, full({}, exponent, {.dtype = dtype}))), dtype == float32 ? 1e-6 : 1e-14);
    }
  }
}

TEST(Pow, OfANumberHasTheGradientOfAnyPower) {
  for (const double exponent : {2.0, 3.0, 0.5, -0.5, -1.0, 1.0, 0.0, 1.7, 4.0}) {
    SCOPED_TRACE(exponent);
    const auto gradient = [&](auto y) {
      const Tensor x = parameter(random64({50}, 8, 0.1, 3));
      sum(pow(x, y)).backward();
      return values(x.grad());
    };
    const std::vector<double> expected = gradient(full({}, exponent, {.dtype = float64})), found = gradient(exponent);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-13 * (1 + std::abs(expected[i])));
  }
}

// Division as Python computes it; each row is x, y, x // y, x % y.
TEST(Division, RoundsDown) {
  const std::vector<std::array<double, 4>> rows = {{1, 0.1, 9, std::fmod(1, 0.1)},
                                                   {7, 2, 3, 1},
                                                   {-7, 2, -4, 1},
                                                   {7, -2, -4, -1},
                                                   {-7, -2, 3, -1},
                                                   {-1, infinity, -1, infinity},
                                                   {1, infinity, 0, 1},
                                                   {infinity, 2, nan, nan},
                                                   {1, 0, infinity, nan},
                                                   {-1, 0, -infinity, nan},
                                                   {0, 0, nan, nan}};
  for (const auto& [x, y, quotient, rest] : rows) {
    SCOPED_TRACE(testing::Message() << x << " by " << y);
    const Tensor a = float64_tensor({x}, {1}), b = float64_tensor({y}, {1});
    for (const Tensor& found : {floor_divide(a, b), floor_divide(a, y)})
      EXPECT_THAT(found.item(), testing::NanSensitiveDoubleEq(quotient));
    for (const Tensor& found : {remainder(a, b), remainder(a, y)})
      EXPECT_THAT(found.item(), testing::NanSensitiveDoubleEq(rest));
  }
  for (const double x : {6.0, -6.0, 0.0, -0.0}) {
    for (const double y : {3.0, -3.0}) {
      EXPECT_EQ(std::signbit(remainder(float64_tensor({x}, {1}), y).item()), std::signbit(y));
      EXPECT_EQ(std::signbit(floor_divide(float64_tensor({x}, {1}), y).item()), std::signbit(x / y));
    }
  }
}

TEST(Division, OfIntegersIsExact) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor x = int64_tensor({7, -7, 7, -7, 5, least, least}, {7}), y = int64_tensor({2, 2, -2, -2, 0, -1, 1}, {7});
  EXPECT_EQ(floor_divide(x, y).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, -4, -4, 3, 0, least, least}));
  EXPECT_EQ(remainder(x, y).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, -1, -1, 0, 0, 0}));
}

TEST(Division, HasTheGradientOfTheRemainder) {
  const Tensor x = parameter(float64_tensor({7, -7}, {2})), y = parameter(float64_tensor({2, 2}, {2}));
  sum(remainder(x, y)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(y.grad().to_vector<double>(), (std::vector<double>{-3, 4}));
  EXPECT_FALSE(floor_divide(x, y).requires_grad());
}

TEST(Pow, IsPositiveForTheRootsOfMinusZeroAndInfinity) {
  const Tensor x = float64_tensor({-infinity, -0.0}, {2});
  for (const double exponent : {0.5, -0.5}) {
    for (const Tensor& power : {pow(x, exponent), pow(x, full({}, exponent, {.dtype = float64}))}) {
      for (const double value : values(power)) EXPECT_FALSE(std::signbit(value) || std::isnan(value)) << value;
    }
  }
}

TEST(Pow, OfIntegersWrapsAround) {
  const Tensor x = int64_tensor({3, -1, 0, 10}, {4});
  EXPECT_EQ(pow(x, 2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{9, 1, 0, 100}));
  EXPECT_EQ(pow(x, int64_tensor({39, -3, -1, 64}, {4})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{4052555153018976267, -1, 0, 0}));
  EXPECT_EQ(message_of([&] { pow(x, 0.5); }), "[pow] int64 cannot hold 0.5; float32 does");
  EXPECT_EQ(message_of([&] { pow(Tensor(), 2); }),
            "[pow] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

// d²/dx dy of x^y is y x^(y-1) ln x + x^(y-1). Neither a base nor an exponent of 0 makes a NaN of it, or of others'.
TEST(Power, HasGradientsOfSecondOrderAtZero) {
  const Tensor x = Tensor::from(std::vector<float>{0, 2}, {2}),
               p = parameter(Tensor::from(std::vector<float>{2, 2}, {2})), w = parameter(ones({2}));
  const Tensor g = grad(sum(pow(x, p) * w), {p}, {}, {.create_graph = true})[0];
  const std::vector<float> of_weights = grad(sum(g), {w})[0].to_vector<float>();
  EXPECT_EQ(of_weights[0], 0);
  EXPECT_FLOAT_EQ(of_weights[1], 2.7725887F);
  const Tensor base = parameter(Tensor::from(std::vector<float>{2, -4, 0}, {3})), none = parameter(zeros({3}));
  const Tensor dx = grad(sum(pow(base, none)), {base}, {}, {.create_graph = true})[0];
  EXPECT_EQ(dx.to_vector<float>(), (std::vector<float>{0, 0, 0}));
  const std::vector<Tensor> second = grad(sum(dx), {base, none});
  EXPECT_EQ(second[0].to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(second[1].to_vector<float>()[0], 0.5F);
  EXPECT_EQ(second[1].to_vector<float>()[2], 0);
  // The first one is 0 there, whatever the gradient of the power is.
  const Tensor one = parameter(full({2}, 3));
  sum(log(pow(one, zeros({2})) - 1)).backward();
  EXPECT_EQ(one.grad().to_vector<float>(), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace asyncgrad::tests
