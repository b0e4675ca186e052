#include "asyncgrad/autograd/dropout.h"

#include <limits>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

Tensor dropped_ones(const Shape& shape, double p, std::uint64_t seed, DType dtype = float32) {
  Generator generator(seed);
  return dropout(ones(shape, {.dtype = dtype}), p, &generator);
}

TEST(Dropout, KeepsTheWantedShareAndScalesIt) {
  for (const double p : {0.1, 0.5, 0.9}) {
    SCOPED_TRACE(p);
    const std::vector<double> y = values(dropped_ones({200, 1001}, p, 3, float64));
    double kept = 0;
    for (const double value : y) {
      if (value == 0) continue;
      EXPECT_DOUBLE_EQ(value, 1 / (1 - p));
      ++kept;
    }
    const double count = static_cast<double>(y.size());
    EXPECT_NEAR(kept / count, 1 - p, 5 * std::sqrt(p * (1 - p) / count));
  }
}

TEST(Dropout, DrawsNumbersOfItsGenerator) {
  Generator generator(5), same(5), uniform_numbers(5);
  const Tensor first = dropout(ones({1000}), 0.5, &generator), second = dropout(ones({1000}), 0.5, &generator);
  EXPECT_EQ(values(first), values(dropout(ones({1000}), 0.5, &same)));
  EXPECT_NE(values(first), values(second));
  EXPECT_EQ(generator.place(), 500u);  // blocks of four words
  // An element is kept where the number that uniform() would draw is larger than p.
  const std::vector<double> drawn = values(uniform({1000}, 0, 1, {.generator = &uniform_numbers}));
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(values(first)[i] > 0, drawn[i] > 0.5) << i;
}

TEST(Dropout, IsTheSameInBothTypes) {
  EXPECT_EQ(values(dropped_ones({70001}, 0.5, 7)), values(dropped_ones({70001}, 0.5, 7, float64)));
}

TEST(Dropout, GradientGoesThroughWhatWasKept) {
  for (const DType dtype : {float32, float64}) {
    Generator generator(2);
    Tensor x = parameter(full({3, 333}, 2, {.dtype = dtype}));
    const Tensor y = dropout(x, 0.25, &generator);
    sum(y * 3).backward();
    const std::vector<double> kept = values(y), gradients = values(x.grad());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_NEAR(gradients[i], kept[i] * 1.5, 1e-6) << i;
  }
}

TEST(Dropout, HasItsEdges) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = float64_tensor({1, nan, 3}, {3});
  const Generator untouched;
  Generator generator;
  EXPECT_EQ(values(dropout(ones({3}), 0, &generator)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(generator.place(), untouched.place());
  EXPECT_EQ(dropout(zeros({0, 3}), 0.5, &generator).shape(), Shape(0, 3));
  const std::vector<double> some = values(dropout(full({1000}, nan), 0.5, &generator));
  for (const double value : some) EXPECT_TRUE(value == 0 || std::isnan(value));
  for (const double value : values(dropout(ones({1000}), 1, &generator))) EXPECT_EQ(value, 0);
  Tensor leaf = parameter(ones({5}));
  sum(dropout(leaf, 1, &generator)).backward();
  EXPECT_EQ(values(leaf.grad()), std::vector<double>(5, 0));
}

TEST(Dropout, RefusesWhatDoesNotFitAtTheCall) {
  EXPECT_EQ(message_of([] { dropout(ones({2}), 1.5); }), "[dropout] p must be in [0, 1], got 1.5; x (2)");
  EXPECT_EQ(message_of([] { dropout(ones({2}), -0.1); }), "[dropout] p must be in [0, 1], got -0.1; x (2)");
  EXPECT_EQ(message_of([] { dropout(ones({2}), std::nan("")); }), "[dropout] p must be in [0, 1], got nan; x (2)");
  EXPECT_EQ(message_of([] { dropout(ones({2}, {.dtype = int64})); }),
            "[dropout] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([] { dropout(Tensor()); }),
            "[dropout] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
