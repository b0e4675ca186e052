#include "asyncgrad/core/random.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/shared_generator.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

TEST(Generator, GivesOutWholeBlocksOfFour) {
  Generator generator(5);
  EXPECT_EQ(generator.seed(), 5U);
  EXPECT_EQ(generator.take(1), 0U);
  EXPECT_EQ(generator.take(4), 1U);
  EXPECT_EQ(generator.take(5), 2U);
  EXPECT_EQ(generator.take(0), 4U);
  EXPECT_EQ(generator.take(1), 4U);
}

TEST(Generator, DecidesTheValuesAtTheCall) {
  Generator first(3), second(3), other(4);
  const Tensor a = uniform({100}, 0, 1, {.generator = &first}), b = uniform({100}, 0, 1, {.generator = &first});
  const Tensor c = uniform({100}, 0, 1, {.generator = &second}), d = uniform({100}, 0, 1, {.generator = &second});
  // The order of the waits is not that of the calls.
  EXPECT_EQ(d.to_vector<float>(), b.to_vector<float>());
  EXPECT_EQ(c.to_vector<float>(), a.to_vector<float>());
  EXPECT_NE(a.to_vector<float>(), b.to_vector<float>());
  EXPECT_NE(uniform({100}, 0, 1, {.generator = &other}).to_vector<float>(), a.to_vector<float>());
}

TEST(DefaultGenerator, StartsAnewWithASeed) {
  manual_seed(11);
  const auto first = randn({8}).to_vector<float>();
  manual_seed(11);
  EXPECT_EQ(randn({8}).to_vector<float>(), first);
  manual_seed(0);
}

// In a world of several processes; the seed and the place, which a checkpoint keeps, are the same on all ranks.
TEST(DefaultGenerator, GivesOtherNumbersOnEachRank) {
  Generator other(11);
  std::set<std::uint64_t> keys;
  for (int rank = 0; rank < 100; ++rank) {
    detail::set_rank_of_default_generator(rank);
    manual_seed(11);
    EXPECT_EQ(default_generator().seed(), 11U);
    EXPECT_EQ(detail::key_of(other), 11U);
    if (rank == 0) {
      EXPECT_EQ(detail::key_of(default_generator()), 11U);
    }
    keys.insert(detail::key_of(default_generator()));
    manual_seed(12);
    keys.insert(detail::key_of(default_generator()));
  }
  EXPECT_EQ(keys.size(), 200U);
  detail::set_rank_of_default_generator(1);
  manual_seed(11);
  const auto of_rank = randn({8}).to_vector<float>();
  EXPECT_NE(of_rank, randn({8}, {.generator = &other}).to_vector<float>());
  default_generator() = Generator(11);  // as a checkpoint does
  EXPECT_EQ(randn({8}).to_vector<float>(), of_rank);
  detail::set_rank_of_default_generator(0);
  manual_seed(0);
}

TEST(DefaultGenerator, IsThatOfTheScope) {
  const std::uint64_t place = default_generator().place();
  Generator first(5), second(5), inner(6);
  std::vector<float> expected, found;
  {
    const GeneratorScope scope(first);
    expected = randn({8}).to_vector<float>();
    {
      const GeneratorScope innermost(inner);
      randn({8});
    }
    EXPECT_EQ(&default_generator(), &first);
  }
  EXPECT_EQ(default_generator().place(), place);
  EXPECT_GT(inner.place(), 0U);
  std::thread([&] {  // a thread that has no other
    const GeneratorScope scope(second);
    found = randn({8}).to_vector<float>();
  })
      .join();
  EXPECT_EQ(found, expected);
}

TEST(DefaultGenerator, BelongsToOneThread) {
  default_generator();
  std::string message;
  std::thread([&] { message = message_of([] { static_cast<void>(randn({2})); }); }).join();
  EXPECT_EQ(
      message,
      "[random] the default generator belongs to the first thread that used it; pass a Generator of this thread's "
      "own, or make a GeneratorScope with one");
}

TEST(Generator, GoesOnFromAPlace) {
  Generator generator(5);
  EXPECT_EQ(generator.place(), 0u);
  generator.take(9);
  EXPECT_EQ(generator.place(), 3u);
  Generator other(generator.seed(), generator.place());
  EXPECT_EQ(other.take(4), generator.take(4));
  EXPECT_EQ(other.place(), generator.place());
}

}  // namespace
}  // namespace asyncgrad
