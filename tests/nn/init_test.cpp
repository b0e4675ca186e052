#include "asyncgrad/nn/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/normal_quantile.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::DoubleNear, testing::HasSubstr, testing::Pointwise;
using tests::message_of;

struct Moments {
  double mean = 0, variance = 0, largest = 0;
};

Moments moments(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  Moments m;
  for (const double x : values) m.mean += x / static_cast<double>(values.size());
  for (const double x : values) {
    m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(x));
  }
  return m;
}

struct InitCase {
  const char* name;
  Initialiser initialiser;
  double variance;
  double limit;  // 0: none
};

constexpr double fan_in = 300, fan_out = 100;
const InitCase init_cases[] = {
    {"xavier_uniform", xavier_uniform, 2 / (fan_in + fan_out), std::sqrt(6 / (fan_in + fan_out))},
    {"xavier_normal", xavier_normal, 2 / (fan_in + fan_out), 0},
    {"he_uniform", he_uniform, 2 / fan_in, std::sqrt(6 / fan_in)},
    {"he_normal", he_normal, 2 / fan_in, 0},
};

TEST(Init, VariancesAreThoseOfThePapers) {
  for (const InitCase& row : init_cases) {
    SCOPED_TRACE(row.name);
    Generator generator(1);
    const Moments m =
        moments(row.initialiser({300, 100}, {.dtype = float64, .generator = &generator}, Location::current()));
    // The standard error of 30,000 samples: 0.6 % of the deviation in the mean, 0.8 % in the variance at most.
    EXPECT_NEAR(m.mean, 0, 0.03 * std::sqrt(row.variance));
    EXPECT_NEAR(m.variance, row.variance, 0.04 * row.variance);
    if (row.limit > 0) {
      EXPECT_LE(m.largest, row.limit);
      EXPECT_GT(m.largest, 0.99 * row.limit);
    } else {
      EXPECT_GT(m.largest, 3 * std::sqrt(row.variance));  // not a uniform one
    }
  }
}

TEST(Init, FansNeedAMatrix) {
  for (const InitCase& row : init_cases) {
    for (const Shape& shape : {Shape(3), Shape(3, 4, 5), Shape(0, 4)}) {
      EXPECT_EQ(message_of([&] { row.initialiser(shape, {}, {}); }),
                std::string("[") + row.name + "] needs the shape (fan_in, fan_out) of a weight, got " + shape.str());
    }
  }
}

TEST(Init, NormalHasTheGivenDeviation) {
  Generator generator(1);
  const Moments m = moments(normal({100, 10, 30}, 0.01, {.dtype = float64, .generator = &generator}));
  EXPECT_NEAR(m.mean, 0, 0.0003);
  EXPECT_NEAR(m.variance, 1e-4, 4e-6);
}

TEST(Init, TruncatedNormalStaysWithinItsBounds) {
  for (const double bound : {0.5, 2.0, 10.0}) {
    Generator generator(1);
    const Moments m = moments(truncated_normal({100, 10, 30}, 3, bound, {.dtype = float64, .generator = &generator}));
    // 1 - 2 b phi(b) / (Phi(b) - Phi(-b)), the variance of a truncated N(0, 1).
    const double density = std::exp(-bound * bound / 2) / std::sqrt(2 * std::acos(-1.0));
    const double variance = 9 * (1 - 2 * bound * density / std::erf(bound / std::sqrt(2.0)));
    EXPECT_NEAR(m.mean, 0, 0.03 * std::sqrt(variance));
    EXPECT_NEAR(m.variance, variance, 0.04 * variance);
    EXPECT_LE(m.largest, 3 * bound);
    if (bound <= 2) {
      EXPECT_GT(m.largest, 0.99 * 3 * bound);
    }
  }
  EXPECT_EQ(truncated_normal({3}, 1, 2, {.dtype = float32}).dtype(), float32);
  EXPECT_EQ(truncated_normal({0}, 1, 2).shape(), Shape(0));
  EXPECT_THAT(message_of([] { truncated_normal({3}, 1, INFINITY); }), HasSubstr("bound"));
  EXPECT_THAT(message_of([] { truncated_normal({3}, 1, 0); }),
              HasSubstr("[truncated_normal] bound must be positive, got 0"));
  EXPECT_THAT(message_of([] { truncated_normal({3}, -1, 2); }),
              HasSubstr("[truncated_normal] standard_deviation must be finite and not negative, got -1"));
  EXPECT_THAT(message_of([] { truncated_normal({3}, 1, 2, {.dtype = int64}); }),
              HasSubstr("[truncated_normal] needs a floating type, got int64"));
}

// The probability below the quantile, by the complement of the error function, which is exact in the tails.
TEST(Init, TheQuantileIsTheInverseOfTheProbability) {
  for (const double q : {0.0, 0.1, 0.4, 0.43, 0.49, 0.4999, 0.5 - 1e-9, 0.5 - 1e-13}) {
    const double x = layer_detail::normal_quantile(q), left = 0.5 - q;
    EXPECT_NEAR(std::erfc(x / std::sqrt(2.0)) / 2, left, 1e-14 * (1 + std::abs(x) * std::abs(x)) * left) << q;
    EXPECT_EQ(layer_detail::normal_quantile(-q), -x);
  }
  EXPECT_NEAR(layer_detail::normal_quantile(0.475), 1.959963984540054, 1e-15);
}

// Q Q^T, or Q^T Q if Q has more rows than columns.
std::vector<double> products(const Tensor& q) {
  return (q.size(0) <= q.size(1) ? matmul(q, q, {.transpose_w = true}) : matmul(q, q, {.transpose_x = true}))
      .to_vector<double>();
}

TEST(Init, OrthogonalHasRowsOrColumnsOfLengthOne) {
  for (const Shape& shape : {Shape(5, 5), Shape(3, 19), Shape(70, 20), Shape(1, 4), Shape(1, 1)}) {
    Generator generator(1);
    const Tensor q = orthogonal(shape, 3, {.dtype = float64, .generator = &generator});
    const std::int64_t count = std::min(shape[0], shape[1]);
    EXPECT_THAT(products(q), Pointwise(DoubleNear(1e-13), (eye(count, {.dtype = float64}) * 9).to_vector<double>()));
  }
  EXPECT_EQ(message_of([] {
              orthogonal({2, 3, 4}, 1);
            }),
            "[orthogonal] needs the shape (fan_in, fan_out) of a weight, got (2, 3, 4)");
}

// The factors Q R of numbers that a generator draws, of which R is upper triangular with a positive diagonal.
TEST(Init, OrthogonalIsAFactorOfItsNumbers) {
  Generator first(5), second(5);
  const Tensor q = orthogonal({7, 4}, 1, {.dtype = float64, .generator = &first});
  const Tensor numbers = randn({4, 7}, {.dtype = float64, .generator = &second});
  const std::vector<double> r = matmul(q, numbers, {.transpose_x = true, .transpose_w = true}).to_vector<double>();
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_GT(r[row * 5], 0);
    for (std::size_t column = 0; column < row; ++column) EXPECT_NEAR(r[row * 4 + column], 0, 1e-14);
  }
}

TEST(Init, OptionsAreCheckedWhenTheyAreMade) {
  const auto expect = [](const char* part, const auto& make) { EXPECT_THAT(message_of(make), HasSubstr(part)); };
  expect("[normal] standard_deviation must be finite and not negative, got -1", [] { normal(-1); });
  expect("[uniform] bound must be finite and not negative, got -1", [] { uniform(-1); });
  expect("[truncated_normal] bound must be positive, got 0", [] { truncated_normal(1, 0); });
  expect("[orthogonal] gain must be finite, got inf", [] { orthogonal(std::numeric_limits<double>::infinity()); });
}

TEST(Init, ConstantIsEverywhere) {
  EXPECT_THAT(constant({2, 2}, 3, {.dtype = int64}).to_vector<std::int64_t>(), testing::Each(3));
}

TEST(Init, OptionsOfLayersAreTheSameFunctions) {
  const auto drawn = [](const Initialiser& initialiser) {
    Generator generator(3);
    return initialiser({3, 2}, {.generator = &generator}, Location::current()).to_vector<float>();
  };
  Generator first(3), second(3);
  EXPECT_EQ(drawn(normal(0.5)), normal({3, 2}, 0.5, {.generator = &first}).to_vector<float>());
  EXPECT_EQ(drawn(uniform(0.5)), uniform({3, 2}, 0.5, {.generator = &second}).to_vector<float>());
  Generator third(3), fourth(3);
  EXPECT_EQ(drawn(truncated_normal(0.5, 1)),
            truncated_normal({3, 2}, 0.5, 1, {.generator = &third}).to_vector<float>());
  EXPECT_EQ(drawn(orthogonal(0.5)), orthogonal({3, 2}, 0.5, {.generator = &fourth}).to_vector<float>());
  EXPECT_EQ(drawn(constant(0.5)), constant({3, 2}, 0.5).to_vector<float>());
}

TEST(Init, TheDefaultGeneratorCanBeSeeded) {
  manual_seed(7);
  const Tensor a = he_normal({4, 4});
  manual_seed(7);
  EXPECT_EQ(he_normal({4, 4}).to_vector<float>(), a.to_vector<float>());
}

}  // namespace
}  // namespace asyncgrad::nn
