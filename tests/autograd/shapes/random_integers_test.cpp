// randint, permutation, bernoulli and tensors that are like others.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "asyncgrad/core/engine.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       highest = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> integers(std::int64_t low, std::int64_t high, std::int64_t count, std::uint64_t seed = 1) {
  Generator generator(seed);
  return randint(low, high, {count}, {.generator = &generator}).to_vector<std::int64_t>();
}

TEST(Randint, IsUniformInItsInterval) {
  std::array<int, 7> counts{};
  for (const std::int64_t x : integers(-3, 4, 70000)) ++counts.at(static_cast<std::size_t>(x + 3));
  // The deviation of such a count is 93.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(integers(5, 6, 3), (std::vector<std::int64_t>{5, 5, 5}));
  EXPECT_TRUE(integers(0, 2, 0).empty());
}

TEST(Randint, TakesTheWidestInterval) {
  const std::vector<std::int64_t> numbers = integers(lowest, highest, 4000);
  const auto negative = std::ranges::count_if(numbers, [](std::int64_t x) { return x < 0; });
  EXPECT_NEAR(static_cast<double>(negative), 2000, 200);
  const auto small = std::ranges::count_if(numbers, [](std::int64_t x) { return x > lowest / 4 && x < highest / 4; });
  EXPECT_NEAR(static_cast<double>(small), 1000, 150);
}

TEST(Randint, ContinuesWhereTheGeneratorIs) {
  Generator one(9), two(9);
  const Tensor whole = randint(0, 1000, {100}, {.generator = &one});
  const Tensor first = randint(0, 1000, {60}, {.generator = &two}), rest = randint(0, 1000, {40}, {.generator = &two});
  EXPECT_EQ(values(concat({first, rest})), values(whole));
  EXPECT_EQ(one.place(), two.place());
}

TEST(Randint, NamesTheLineThatAskedForNothing) {
  EXPECT_THAT(tests::whole_message_of([] { randint(5, 5, {2}); }),
              testing::HasSubstr(
                  "[randint] there is no integer in [5, 5); low must be below high, at random_integers_test.cpp:"));
}

TEST(Randint, HasOtherTypes) {
  Generator generator(3);
  EXPECT_EQ(randint(0, 256, {1000}, {.dtype = uint8, .generator = &generator}).dtype(), uint8);
  EXPECT_EQ(message_of([] { randint(0, 257, {3}, {.dtype = uint8}); }), "[randint] uint8 cannot hold 256; int64 does");
  EXPECT_EQ(message_of([] { randint(-1, 2, {3}, {.dtype = uint8}); }), "[randint] uint8 cannot hold -1; int64 does");
  EXPECT_EQ(message_of([] { randint(4, 4, {3}); }), "[randint] there is no integer in [4, 4); low must be below high");
}

TEST(Permutation, HasEveryNumberOnce) {
  for (const std::int64_t n : {0, 1, 8, 127, 128, 129, 100001}) {
    Generator generator(static_cast<std::uint64_t>(n));
    std::vector<std::int64_t> order = permutation(n, {.generator = &generator}).to_vector<std::int64_t>();
    EXPECT_EQ(std::ranges::is_sorted(order), n < 2) << n;
    std::ranges::sort(order);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(n));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected) << n;
  }
  EXPECT_EQ(message_of([] { permutation(-1); }), "[permutation] needs at least 0 numbers, got -1");
  EXPECT_EQ(message_of([] { permutation(257, {.dtype = uint8}); }), "[permutation] uint8 cannot hold 256; int64 does");
}

TEST(Permutation, HasEveryOrderAlike) {
  Generator generator(1);
  std::array<int, 24> counts{};
  for (int i = 0; i < 12000; ++i) {
    const std::vector<std::int64_t> order = permutation(4, {.generator = &generator}).to_vector<std::int64_t>();
    const auto smaller = [&](std::size_t from) {
      return std::count_if(order.begin() + static_cast<std::ptrdiff_t>(from), order.end(),
                           [&](std::int64_t x) { return x < order[from]; });
    };
    ++counts.at(static_cast<std::size_t>(6 * smaller(0) + 2 * smaller(1) + smaller(2)));
  }
  // The deviation of such a count is 22.
  for (const int count : counts) EXPECT_NEAR(count, 500, 120);
}

TEST(RandomIntegers, DoNotDependOnTheWorkers) {
  expect_same_for_all_workers([] {
    Generator generator(4);
    const Tensor numbers = randint(0, 1 << 30, {300001}, {.generator = &generator});
    const Tensor order = permutation(5000, {.generator = &generator});
    return std::vector{numbers, order, bernoulli(0.3, {70001}, {.generator = &generator})};
  });
}

TEST(Bernoulli, IsTrueSoOften) {
  Generator generator(2);
  const Tensor coins = bernoulli(0.3, {100000}, {.generator = &generator});
  EXPECT_EQ(coins.dtype(), boolean);
  EXPECT_NEAR(mean(coins).item(), 0.3, 0.01);
  EXPECT_EQ(sum(bernoulli(0, {1000}, {.generator = &generator})).item(), 0);
  EXPECT_EQ(sum(bernoulli(1, {1000}, {.dtype = float64, .generator = &generator})).item(), 1000);
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    EXPECT_NE(message_of([&] { bernoulli(p, {2}); }).find("[bernoulli] p must be in [0, 1]"), std::string::npos);
  }
}

TEST(Bernoulli, TakesAProbabilityForEachElement) {
  Generator generator(2);
  const Tensor p = expand(float64_tensor({0, 0.25, 1, std::nan("")}, {4}), {20000, 4});
  const Tensor share = mean(bernoulli(p, &generator), 0);
  EXPECT_EQ(share.to_vector<float>()[0], 0);
  EXPECT_NEAR(share.to_vector<float>()[1], 0.25, 0.02);
  EXPECT_EQ(share.to_vector<float>()[2], 1);
  EXPECT_EQ(share.to_vector<float>()[3], 0);
  EXPECT_EQ(message_of([] { bernoulli(ones({2}, {.dtype = int64})); }),
            "[bernoulli] int64 is not supported: p int64 (2); p.to(ag::float32) converts it");
}

TEST(Like, TensorsHaveShapeAndTypeOfAnother) {
  for (const DType dtype : {float32, float64, int64, uint8, boolean, bfloat16}) {
    const Tensor x = zeros({2, 3}, {.dtype = dtype});
    for (const Tensor& y : {zeros_like(x), ones_like(x), full_like(x, 1)}) {
      EXPECT_EQ(y.shape(), x.shape());
      EXPECT_EQ(y.dtype(), dtype);
    }
    EXPECT_EQ(values(ones_like(x)), std::vector<double>(6, 1));
    EXPECT_EQ(values(zeros_like(x)), std::vector<double>(6, 0));
  }
  Generator one(3), two(3);
  const Tensor x = zeros({2, 3}, {.dtype = float64});
  EXPECT_EQ(values(rand_like(x, &one)), values(uniform({2, 3}, 0, 1, {.dtype = float64, .generator = &two})));
  EXPECT_EQ(values(randn_like(x, &one)), values(randn({2, 3}, {.dtype = float64, .generator = &two})));
  EXPECT_FALSE(zeros_like(parameter(ones({2}))).requires_grad());
  EXPECT_EQ(message_of([] { full_like(zeros({2}, {.dtype = int64}), 0.5); }),
            "[full] int64 cannot hold 0.5; float32 does");
  EXPECT_NE(message_of([] { randn_like(zeros({2}, {.dtype = int64})); }).find("no random numbers of type int64"),
            std::string::npos);
  EXPECT_EQ(message_of([] { zeros_like(Tensor{}); }),
            "[full_like] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
