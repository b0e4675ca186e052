#include "asyncgrad/data/subset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::data {
namespace {

using testing::ElementsAre, testing::HasSubstr;
using tests::message_of;
using Indices = std::vector<std::int64_t>;

struct Squares {
  std::int64_t size() const { return 10; }
  std::int64_t operator[](std::int64_t i) const { return i * i; }
};
struct Drawn {
  std::int64_t size() const { return 10; }
  double item(std::int64_t i, Random& random) const { return static_cast<double>(i) + random.uniform(); }
};

template <class T, class Data>
std::vector<T> epoch_of(Batches<Data>& batches) {
  std::vector<T> all;
  while (const auto batch = batches.next()) {
    for (const T x : (*batch)[0].template to_vector<T>()) all.push_back(x);
  }
  return all;
}

TEST(Subset, HasSomeItems) {
  const Subset subset(Squares(), {5, 2, 2});
  EXPECT_EQ(subset.size(), 3);
  Batches batches(subset, {.batch_size = 2, .shuffled = false});
  EXPECT_THAT(epoch_of<std::int64_t>(batches), ElementsAre(25, 4, 4));
  EXPECT_THAT(message_of([] { Subset(Squares(), {3, 10}); }), HasSubstr("[Subset] there is no item 10 among 10"));
}

TEST(Subset, HasItemsThatAreDrawn) {
  Batches batches(Subset(Drawn(), {4, 7}), {.shuffled = false});
  const std::vector<double> first = epoch_of<double>(batches), second = epoch_of<double>(batches);
  EXPECT_EQ(static_cast<int>(first[0]), 4);
  EXPECT_EQ(static_cast<int>(first[1]), 7);
  EXPECT_NE(first, second);
}

TEST(Subset, SplitSharesTheData) {
  const std::vector<Subset<Squares>> parts = split(Squares(), {0.7, 0.3}, {.shuffled = false});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].size(), 7);
  EXPECT_EQ(parts[1][0], 49);
  Batches batches(parts[1], {.batch_size = 2});
  EXPECT_EQ(batches.size(), 2);
}

TEST(Sampler, ChoosesTheItemsOfBatches) {
  const Sampler last = [](std::int64_t count, std::int64_t epoch) { return Indices{count - 1, epoch, epoch}; };
  Batches batches(Squares(), {.batch_size = 2, .sampler = last});
  EXPECT_EQ(batches.size(), 2);
  EXPECT_THAT(epoch_of<std::int64_t>(batches), ElementsAre(81, 0, 0));
  EXPECT_THAT(epoch_of<std::int64_t>(batches), ElementsAre(81, 1, 1));
  Batches one(Squares(), {.sampler = [](std::int64_t, std::int64_t) { return Indices{10}; }});
  EXPECT_THAT(message_of([&] { one.next(); }), HasSubstr("[Batches] the sampler chose item 10 among 10"));
}

// A run that stopped within an epoch goes on with the items that were left.
TEST(Sampler, GoesOnFromItsPlace) {
  const auto make = [] {
    return Batches(Squares(), {.batch_size = 3, .sampler = weighted(std::vector<double>(10, 1), {.samples = 9})});
  };
  auto batches = make(), again = make();
  const std::vector<std::int64_t> first = epoch_of<std::int64_t>(batches), second = epoch_of<std::int64_t>(batches);
  EXPECT_NE(first, second);
  epoch_of<std::int64_t>(again);
  again.next();
  auto resumed = make();
  Checkpoint kept, loaded;
  const tests::TemporaryFolder folder;
  kept.add("batches", again).save(folder.file("place"));
  loaded.add("batches", resumed).load(folder.file("place"));
  const std::vector<std::int64_t> rest = epoch_of<std::int64_t>(resumed);
  EXPECT_EQ(rest, std::vector<std::int64_t>(second.begin() + 3, second.end()));
}

}  // namespace
}  // namespace asyncgrad::data
