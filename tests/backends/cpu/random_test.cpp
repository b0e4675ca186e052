#include <cmath>
#include <numbers>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

using Words = std::array<std::uint32_t, 4>;

// Philox 4x32-10 as its authors write it.
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Words block_words(std::uint64_t block, std::uint64_t seed) {
  return philox({static_cast<std::uint32_t>(block >> 16), static_cast<std::uint32_t>(block >> 48),
                 static_cast<std::uint32_t>(block & 0xFFFF), 0},
                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

template <class T>
std::vector<T> draw(Op op, std::int64_t n, const RandomAttributes& attributes) {
  const Array out(n, dtype_of<T>);
  run_kernel(op, {written(out)}, attributes);
  return out.values<T>();
}

TEST(Random, ReferenceHasTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Elements of the sequences of cuRAND 13.0's host generator CURAND_RNG_PSEUDO_PHILOX4_32_10.
void expect_sequence(std::uint64_t seed, const std::vector<std::pair<std::size_t, float>>& elements) {
  const std::vector<float> x = draw<float>(Op::uniform, 300000, {seed, 0, 0, 1});
  for (const auto& [at, value] : elements) EXPECT_EQ(x[at], value) << "element " << at << " of seed " << seed;
}

TEST(Random, UniformIsBitEqualToCurandsHostGenerator) {
  expect_sequence(0, {{0, 0x1.989fa4p-2F},
                      {1, 0x1.c2d38cp-1F},
                      {2, 0x1.78af58p-1F},
                      {3, 0x1.3601b8p-1F},
                      {4, 0x1.088a2cp-1F},
                      {7, 0x1.07f0ecp-1F},
                      {1001, 0x1.b500f8p-3F},
                      {262143, 0x1.ebfef6p-2F},
                      {262144, 0x1.f1c99ap-1F},
                      {262149, 0x1.b38efcp-1F},
                      {299999, 0x1.3f802ep-2F}});
  expect_sequence(0x123456789ABCDEF0, {{0, 0x1.259368p-5F},
                                       {1, 0x1.e0e13p-2F},
                                       {2, 0x1.93f702p-1F},
                                       {3, 0x1.59df26p-3F},
                                       {4, 0x1.c97eb6p-3F},
                                       {7, 0x1.539f2ep-2F},
                                       {1001, 0x1.36eb42p-2F},
                                       {262143, 0x1.e28656p-1F},
                                       {262144, 0x1.c4ecccp-3F},
                                       {262149, 0x1.5277cap-1F},
                                       {299999, 0x1.d04e78p-2F}});
}

TEST(Random, UniformIsThatOfTheReferenceEverywhere) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789ABCDEF0}}) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{65530}, (std::uint64_t{1} << 48) - 3}) {
      const std::vector<float> x = draw<float>(Op::uniform, 1003, {seed, first, 0, 1});
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(x[i], static_cast<float>(block_words(first + i / 4, seed)[i % 4]) * 0x1p-32F + 0x1p-33F) << i;
      }
      const std::vector<double> y = draw<double>(Op::uniform, 517, {seed, first, 0, 1});
      for (std::size_t i = 0; i < y.size(); ++i) {
        const Words words = block_words(first + i / 2, seed);
        const std::uint64_t bits = words[i % 2 * 2] ^ std::uint64_t{words[i % 2 * 2 + 1]} << 21;
        ASSERT_EQ(y[i], static_cast<double>(bits) * 0x1p-53 + 0x1p-54) << i;
      }
    }
  }
}

TEST(Random, NormalIsBoxAndMullersTransform) {
  constexpr std::uint64_t seed = 5, first = 77;
  const std::vector<float> x = draw<float>(Op::normal, 200001, {seed, first, 0, 1});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Words words = block_words(first + i / 4, seed);
    const float u = static_cast<float>(words[i % 4 & 2]) * 0x1p-32F + 0x1p-33F;
    const double radius = std::sqrt(-2 * std::log(static_cast<double>(u)));
    const double angle = 2 * std::numbers::pi * words[(i % 4 & 2) + 1] * 0x1p-32;
    const double expected = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    // Near the zeros of sine and cosine the angle itself is a float of a quarter turn.
    ASSERT_TRUE(is_close(x[i], static_cast<float>(expected), 4)) << i << ": " << x[i] << ", expected " << expected;
  }
  const std::vector<double> y = draw<double>(Op::normal, 1001, {seed, first, 0, 1});
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Words words = block_words(first + i / 2, seed);
    const auto unit = [&](int pair) {
      const std::uint64_t low = words[static_cast<std::size_t>(2 * pair)],
                          high = words[static_cast<std::size_t>(2 * pair + 1)];
      return static_cast<double>(low ^ high << 21) * 0x1p-53 + 0x1p-54;
    };
    const double radius = std::sqrt(-2 * std::log(unit(0))), angle = 2 * std::numbers::pi * unit(1);
    ASSERT_TRUE(is_close(y[i], radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)), 4)) << i;
  }
}

TEST(Random, HasTheMomentsOfItsDistribution) {
  constexpr std::int64_t n = 1 << 20;
  const auto moments = [](const std::vector<float>& x) {
    std::array<double, 5> sums{};
    for (const float value : x) {
      for (unsigned k = 1; k < 5; ++k) sums[k] += std::pow(static_cast<double>(value), k) / n;
    }
    return sums;
  };
  const auto uniform = moments(draw<float>(Op::uniform, n, {3, 0, -1, 1}));
  EXPECT_NEAR(uniform[1], 0, 5e-3);
  EXPECT_NEAR(uniform[2], 1.0 / 3, 5e-3);
  const auto normal = moments(draw<float>(Op::normal, n, {3, 0, 0, 1}));
  EXPECT_NEAR(normal[1], 0, 5e-3);
  EXPECT_NEAR(normal[2], 1, 1e-2);
  EXPECT_NEAR(normal[3], 0, 2e-2);
  EXPECT_NEAR(normal[4], 3, 5e-2);
  const auto scaled = moments(draw<float>(Op::normal, n, {3, 0, 2, 0.5}));
  EXPECT_NEAR(scaled[1], 2, 5e-3);
  EXPECT_NEAR(scaled[2] - scaled[1] * scaled[1], 0.25, 5e-3);
}

TEST(Random, ANumberDependsOnItsPlaceAlone) {
  const auto check = []<class T>(Op op, T) {
    constexpr std::int64_t n = 200000, per_block = 16 / sizeof(T);
    const std::vector<T> whole = draw<T>(op, n, {9, 1000, 0, 1});
    for (const std::int64_t skipped : {1, 63, 16385}) {
      const auto begin = whole.begin() + skipped * per_block;
      for (const std::int64_t count : {1, 3, 255, 70001}) {
        expect_same_bits(draw<T>(op, count, {9, 1000 + static_cast<std::uint64_t>(skipped), 0, 1}),
                         std::vector<T>(begin, begin + count));
      }
    }
  };
  check(Op::uniform, float{});
  check(Op::uniform, double{});
  check(Op::normal, float{});
  check(Op::normal, double{});
}

TEST(Random, UniformStaysWithinItsBounds) {
  for (const float x : draw<float>(Op::uniform, 100000, {1, 0, 2, 5})) {
    ASSERT_GE(x, 2.0F);
    ASSERT_LE(x, 5.0F);
  }
}

TEST(Random, IsCutIntoTiles) {
  const Array out(Shape{1 << 20}, float32), none(Shape{0}, float32);
  EXPECT_EQ(run_kernel(Op::normal, {written(out)}, RandomAttributes{0, 0, 0, 1}), 16);
  EXPECT_EQ(run_kernel(Op::normal, {written(none)}, RandomAttributes{0, 0, 0, 1}), 1);
}

}  // namespace

}  // namespace asyncgrad::detail
