#include "asyncgrad/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::data {
namespace {

using testing::Each, testing::ElementsAre, testing::HasSubstr, testing::Lt, testing::Ne;
using tests::message_of;
using Indices = std::vector<std::int64_t>;

// How often each index was drawn, as a share.
std::vector<double> shares_of(const Indices& order, std::size_t count) {
  std::vector<double> shares(count);
  for (const std::int64_t i : order) shares[static_cast<std::size_t>(i)] += 1 / static_cast<double>(order.size());
  return shares;
}

TEST(Shuffled, RefusesANegativeCount) {
  EXPECT_EQ(message_of([] { shuffled(-1, 0, 0); }), "[shuffled] the number of items must be at least 0, got -1");
}

TEST(Weighted, DrawsInProportionToTheWeights) {
  const std::vector<double> weights{1, 0, 2, 5};
  const Indices order = weighted(weights, {.samples = 40000, .seed = 1})(4, 0);
  const std::vector<double> shares = shares_of(order, 4);
  // Five times the standard error of 40,000 samples at most.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(shares[i], weights[i] / 8, 0.0125);
  EXPECT_EQ(shares[1], 0);
  EXPECT_EQ(weighted(weights)(4, 0).size(), 4U);
}

TEST(Weighted, WithoutReplacementEachComesOnce) {
  const std::vector<double> weights{1, 0, 2, 5};
  const Sampler all = weighted(weights, {.replacement = false, .samples = 3});
  std::vector<double> first(4);
  for (std::int64_t epoch = 0; epoch < 20000; ++epoch) {
    Indices order = all(4, epoch);
    first[static_cast<std::size_t>(order[0])] += 1.0 / 20000;
    std::ranges::sort(order);
    ASSERT_THAT(order, ElementsAre(0, 2, 3));
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(first[i], weights[i] / 8, 0.018);
}

TEST(Weighted, DependsOnTheSeedAndTheEpochAlone) {
  const std::vector<double> weights(50, 1);
  for (const bool replacement : {true, false}) {
    const auto drawn = [&](std::uint64_t seed, std::int64_t epoch) {
      return weighted(weights, {.replacement = replacement, .seed = seed})(50, epoch);
    };
    EXPECT_EQ(drawn(1, 2), drawn(1, 2));
    EXPECT_NE(drawn(1, 2), drawn(1, 3));
    EXPECT_NE(drawn(1, 2), drawn(2, 2));
  }
}

// Sums of them and quotients by them would be rounded away.
TEST(Weighted, TakesTheSmallestWeights) {
  const double least = std::numeric_limits<double>::denorm_min();
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) EXPECT_EQ(weighted({0, least})(2, epoch), (Indices{1, 1}));
  bool is_in_order = true;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Indices order = weighted({1e-310, 1e-310, 1e-310}, {.replacement = false})(3, epoch);
    is_in_order = is_in_order && std::ranges::is_sorted(order);
  }
  EXPECT_FALSE(is_in_order);
  EXPECT_EQ(weighted({1e-300, 1e300, 0, 1e-300}, {.replacement = false, .samples = 3})(4, 0).front(), 1);
}

// The items may draw for themselves with the same seed.
TEST(Weighted, DrawsOtherNumbersThanTheItems) {
  const std::int64_t first = weighted(std::vector<double>(1000, 1), {.samples = 1, .seed = 3})(1000, 0)[0];
  Random of_item(3, 0, 0);
  EXPECT_NE(first, static_cast<std::int64_t>((1 - of_item.uniform()) * 1000));
}

TEST(Weighted, SaysWhatDoesNotFit) {
  EXPECT_THAT(message_of([] { weighted({}); }), HasSubstr("[weighted] needs a weight above 0"));
  EXPECT_THAT(message_of([] { weighted({1, std::nan("")}); }), HasSubstr("a weight must be finite and not negative"));
  EXPECT_THAT(message_of([] { weighted({1e308, 1e308}); }), HasSubstr("the sum of the weights is not finite"));
  EXPECT_THAT(message_of([] { weighted({1}, {.samples = -1}); }), HasSubstr("samples must be at least 0, got -1"));
  EXPECT_THAT(message_of([] {
                weighted({1, 0}, {.replacement = false});
              }),
              HasSubstr("cannot draw 2 items without replacement, 1 have a weight above 0"));
  EXPECT_THAT(message_of([] { weighted({1, 1})(3, 0); }), HasSubstr("there are 2 weights for 3 items"));
}

TEST(Split, HasTheShares) {
  const std::vector<Indices> parts = split_indices(10, {0.25, 0.25, 0.5}, {.shuffled = false});
  EXPECT_THAT(parts, ElementsAre(Indices{0, 1, 2}, Indices{3, 4}, Indices{5, 6, 7, 8, 9}));
  EXPECT_EQ(split_indices(0, {1}), std::vector<Indices>{{}});
}

TEST(Split, PartsAreApart) {
  const std::vector<Indices> parts = split_indices(1000, {0.1, 0.2, 0.7}, {.seed = 3});
  std::set<std::int64_t> all;
  for (const Indices& part : parts) all.insert(part.begin(), part.end());
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(parts[0].size(), 100U);
  EXPECT_NE(parts, split_indices(1000, {0.1, 0.2, 0.7}, {.seed = 4}));
  EXPECT_EQ(parts, split_indices(1000, {0.1, 0.2, 0.7}, {.seed = 3}));
  EXPECT_EQ(split_indices(10, {0.3}, {.shuffled = false})[0].size(), 3U);  // the others are in no part
}

TEST(Split, SaysWhatDoesNotFit) {
  EXPECT_THAT(message_of([] { split_indices(10, {0.5, 0}); }), HasSubstr("[split] a share must be positive, got 0"));
  EXPECT_THAT(message_of([] {
                split_indices(10, {0.5, 0.75});
              }),
              HasSubstr("[split] the shares are 1.25 together, more than 1"));
  EXPECT_THAT(message_of([] { split_indices(-1, {1}); }), HasSubstr("must be at least 0, got -1"));
}

}  // namespace
}  // namespace asyncgrad::data
