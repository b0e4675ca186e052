#include "asyncgrad/nn/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

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

struct Case {
  const char* name;
  Initialiser initialiser;
  double variance;
  double limit;  // 0: none
};

constexpr double fan_in = 300, fan_out = 100;
const Case cases[] = {
    {"xavier_uniform", xavier_uniform, 2 / (fan_in + fan_out), std::sqrt(6 / (fan_in + fan_out))},
    {"xavier_normal", xavier_normal, 2 / (fan_in + fan_out), 0},
    {"he_uniform", he_uniform, 2 / fan_in, std::sqrt(6 / fan_in)},
    {"he_normal", he_normal, 2 / fan_in, 0},
};

TEST(Init, VariancesAreThoseOfThePapers) {
  for (const Case& row : cases) {
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
  for (const Case& row : cases) {
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
