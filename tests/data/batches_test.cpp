#include "asyncgrad/data/batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// Item i is (i, 10 i) and the label i.
struct Numbered {
  std::int64_t count;
  std::int64_t unreadable = -1;

  std::int64_t size() const { return count; }
  std::pair<std::vector<float>, int> operator[](std::int64_t i) const {
    if (i == unreadable) throw std::runtime_error("the item cannot be read");
    const auto x = static_cast<float>(i);
    return {{x, 10 * x}, static_cast<int>(i)};
  }
};

using Labels = std::vector<std::int64_t>;

// The labels of an epoch's batches, one after another.
template <class Data>
Labels labels_of_epoch(data::Batches<Data>& batches) {
  Labels labels;
  while (const auto batch = batches.next()) {
    for (const std::int64_t label : (*batch)[1].template to_vector<std::int64_t>()) labels.push_back(label);
  }
  return labels;
}

class BatchesTest : public testing::Test {
 protected:
  void TearDown() override {
    recover();
    set_engine_options({});
  }
};

TEST_F(BatchesTest, MakeTensorsOfItems) {
  data::Batches batches(Numbered{5}, {.batch_size = 2, .shuffled = false});
  EXPECT_EQ(batches.size(), 3);
  const auto first = batches.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)[0].shape(), Shape({2, 2}));
  EXPECT_EQ((*first)[0].to_vector<float>(), (std::vector<float>{0, 0, 1, 10}));
  EXPECT_EQ((*first)[1].to_vector<std::int64_t>(), (Labels{0, 1}));
  batches.next();
  EXPECT_EQ((*batches.next())[0].to_vector<float>(), (std::vector<float>{4, 40})) << "the last one is smaller";
  EXPECT_FALSE(batches.next().has_value());
  EXPECT_EQ(batches.epoch(), 1);
  EXPECT_EQ(labels_of_epoch(batches), (Labels{0, 1, 2, 3, 4}));
}

TEST_F(BatchesTest, MayLeaveOutTheRest) {
  data::Batches batches(Numbered{5}, {.batch_size = 2, .shuffled = false, .drop_last = true});
  EXPECT_EQ(labels_of_epoch(batches), (Labels{0, 1, 2, 3}));
}

// Each process has its rows of each batch, and together they have the batch.
TEST_F(BatchesTest, AreSharedByProcesses) {
  std::map<int, std::vector<Labels>> rows;
  for (int index = 0; index < 2; ++index) {
    data::Batches batches(Numbered{14}, {.batch_size = 4, .seed = 3, .share = {index, 2}});
    EXPECT_EQ(batches.size(), 4);
    EXPECT_EQ(batches.left_out(), 0);
    while (const auto batch = batches.next()) rows[index].push_back((*batch)[1].to_vector<std::int64_t>());
  }
  data::Batches whole(Numbered{14}, {.batch_size = 4, .seed = 3});
  for (std::size_t i = 0; i < 4; ++i) {
    Labels together = rows[0][i];
    EXPECT_EQ(rows[1][i].size(), together.size()) << "batch " << i;
    together.insert(together.end(), rows[1][i].begin(), rows[1][i].end());
    EXPECT_EQ(together, (*whole.next())[1].to_vector<std::int64_t>()) << "batch " << i;
  }
}

TEST_F(BatchesTest, LeaveOutWhatCannotBeShared) {
  data::Batches batches(Numbered{11}, {.batch_size = 4, .shuffled = false, .share = {1, 2}});
  EXPECT_EQ(batches.size(), 2);
  EXPECT_EQ(batches.left_out(), 3);
  EXPECT_EQ(labels_of_epoch(batches), (Labels{2, 3, 6, 7}));
  EXPECT_THAT(message_of([] {
                data::Batches(Numbered{5}, {.batch_size = 3, .share = {0, 2}});
              }),
              HasSubstr("[Batches] batch_size 3 cannot be shared evenly by 2; it is that of all processes together"));
  EXPECT_THAT(message_of([] {
                data::Batches(Numbered{5}, {.batch_size = 4, .share = {2, 2}});
              }),
              HasSubstr("[Batches] share must be one of count parts, numbered from 0, got index 2 of 2"));
}

// What cannot be shared depends on the number of parts, and not on how many of them a process takes.
TEST_F(BatchesTest, GiveAProcessSeveralParts) {
  const auto of = [](data::Share share) {
    return data::Batches(Numbered{23}, {.batch_size = 8, .shuffled = false, .share = share});
  };
  for (const data::Share share : {data::Share{2, 4, 2}, data::Share{1, 4}, data::Share{0, 4, 4}}) {
    data::Batches batches = of(share);
    EXPECT_EQ(batches.size(), 2);
    EXPECT_EQ(batches.left_out(), 7);
  }
  data::Batches half = of({2, 4, 2});
  EXPECT_EQ(labels_of_epoch(half), (Labels{4, 5, 6, 7, 12, 13, 14, 15}));
  EXPECT_THAT(
      message_of([&] {
        of({2, 4, 3});
      }),
      HasSubstr("[Batches] share must have at least one part, and none beyond the last, got 3 from index 2 of 4"));
}

TEST_F(BatchesTest, HaveAnotherOrderInEveryEpochAndTheSameInEveryRun) {
  std::vector<Labels> epochs;
  for (const EngineOptions& options : {EngineOptions{}, EngineOptions{.workers = 1, .source_threads = 7}}) {
    set_engine_options(options);
    data::Batches batches(Numbered{100}, {.batch_size = 7, .seed = 3, .ahead = options.workers == 1 ? 5 : 0});
    for (int epoch = 0; epoch < 2; ++epoch) epochs.push_back(labels_of_epoch(batches));
  }
  EXPECT_EQ(epochs[0], epochs[2]);
  EXPECT_EQ(epochs[1], epochs[3]);
  EXPECT_NE(epochs[0], epochs[1]);
  for (Labels& labels : epochs) {
    std::ranges::sort(labels);
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(labels[i], static_cast<std::int64_t>(i));
  }
}

TEST_F(BatchesTest, GoOnFromTheirPlaceInACheckpoint) {
  const TemporaryFolder folder;
  const std::string path = folder.file("place");
  data::Batches batches(Numbered{50}, {.batch_size = 8});
  labels_of_epoch(batches);
  batches.next();
  batches.next();
  Checkpoint().add("batches", batches).save(path);
  const Labels expected = labels_of_epoch(batches);

  data::Batches later(Numbered{50}, {.batch_size = 8});
  later.next();
  Checkpoint().add("batches", later).load(path);
  EXPECT_EQ(later.epoch(), 1);
  EXPECT_EQ(later.batch(), 2);
  EXPECT_EQ(labels_of_epoch(later), expected);

  data::Batches larger(Numbered{50}, {.batch_size = 32});  // its epoch has two batches, and this place is its end
  Checkpoint().add("batches", larger).load(path);
  EXPECT_FALSE(larger.next().has_value());
  data::Batches one(Numbered{50}, {.batch_size = 50});
  Checkpoint().add("batches", one).load(path);
  EXPECT_THAT(message_of([&] { one.next(); }),
              HasSubstr("[Batches] the place is batch 2 of epoch 1, which has 1; it was kept with another batch_size"));
}

TEST_F(BatchesTest, WhatAnItemThrowsIsTheBatchesError) {
  data::Batches batches(Numbered{10, 7}, {.batch_size = 5, .shuffled = false});
  EXPECT_EQ((*batches.next())[1].to_vector<std::int64_t>(), (Labels{0, 1, 2, 3, 4}));
  const auto second = batches.next();
  EXPECT_THAT(message_of([&] { (*second)[0].wait(); }), HasSubstr("[batch] the item cannot be read"));
}

TEST_F(BatchesTest, ItemsOfOtherSizesAreAnError) {
  const std::vector<std::pair<std::vector<float>, int>> items = {{{1, 2}, 0}, {{1, 2, 3}, 1}};
  data::Batches batches(items, {.batch_size = 2, .shuffled = false});
  EXPECT_THAT(message_of([&] { (*batches.next())[0].wait(); }),
              HasSubstr("an item has 3 numbers where the first has 2"));
}

TEST_F(BatchesTest, TakeAFunctionThatCollates) {
  const std::vector<std::vector<float>> words = {{1}, {2, 3}, {4, 5, 6}};  // padded to three
  data::Batches batches(words, {{.shape = {3}}},
                        [](std::span<const std::vector<float>> items, const CustomCall& call) {
                          const auto out = call.output<float>();
                          std::ranges::fill(out, -1.0F);
                          for (std::size_t i = 0; i < items.size(); ++i)
                            std::ranges::copy(items[i], out.begin() + 3 * static_cast<std::ptrdiff_t>(i));
                        },
                        {.batch_size = 3, .shuffled = false});
  EXPECT_EQ((*batches.next())[0].to_vector<float>(), (std::vector<float>{1, -1, -1, 2, 3, -1, 4, 5, 6}));
}

TEST_F(BatchesTest, NumbersAndEmptySetsWork) {
  data::Batches numbers(std::vector<double>{0.5, 1.5}, {.batch_size = 2, .shuffled = false});
  EXPECT_EQ((*numbers.next())[0].to_vector<double>(), (std::vector<double>{0.5, 1.5}));
  data::Batches none(std::vector<double>{}, {});
  EXPECT_EQ(none.size(), 0);
  EXPECT_FALSE(none.next().has_value());
}

// A replay buffer: items come and go while an epoch is under way.
struct Changing {
  std::shared_ptr<std::atomic<std::int64_t>> count = std::make_shared<std::atomic<std::int64_t>>(0);
  std::int64_t size() const { return *count; }
  std::int64_t operator[](std::int64_t i) const { return i; }
};

Labels items_of_epoch(data::Batches<Changing>& batches, const Changing& set, std::int64_t later) {
  Labels items;
  while (const auto batch = batches.next()) {
    for (const std::int64_t item : (*batch)[0].to_vector<std::int64_t>()) items.push_back(item);
    *set.count = later;
  }
  std::ranges::sort(items);
  return items;
}

TEST_F(BatchesTest, AnEpochHasTheItemsThatWereThereWhenItBegan) {
  for (const bool shuffled : {false, true}) {
    const Changing set;
    data::Batches batches(set, {.batch_size = 2, .shuffled = shuffled});
    EXPECT_EQ(items_of_epoch(batches, set, 0), Labels{});
    *set.count = 5;
    EXPECT_EQ(batches.size(), 3);
    EXPECT_EQ(items_of_epoch(batches, set, 7), (Labels{0, 1, 2, 3, 4}));
    EXPECT_EQ(batches.size(), 4);
    EXPECT_EQ(items_of_epoch(batches, set, 7), (Labels{0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(BatchesTest, ItemsThatAreGoneAreAnError) {
  const Changing set;
  *set.count = 6;
  data::Batches batches(set, {.batch_size = 2, .shuffled = false, .ahead = 0});
  EXPECT_EQ((*batches.next())[0].to_vector<std::int64_t>(), (Labels{0, 1}));
  *set.count = 3;
  const auto second = batches.next();
  EXPECT_THAT(message_of([&] { (*second)[0].wait(); }),
              HasSubstr("[batch] item 3 of the epoch is gone: the data set has 3 items now"));
  EXPECT_TRUE(batches.next().has_value());
  EXPECT_FALSE(batches.next().has_value()) << "the epoch has as many batches as it began with";
  *set.count = -1;
  EXPECT_THAT(message_of([&] { batches.next(); }), HasSubstr("size() of the data set must be at least 0, got -1"));
}

TEST_F(BatchesTest, AnItemHasATensor) {
  data::Batches batches(std::vector<int>{1}, {}, [](std::span<const int>, const CustomCall&) {});
  EXPECT_THAT(message_of([&] { batches.next(); }), HasSubstr("an item has no tensor"));
}

// Item i with noise of its own.
struct Noisy {
  std::int64_t size() const { return 20; }
  std::pair<double, std::int64_t> item(std::int64_t i, data::Random& random) const {
    const double noise = random.uniform();
    return {noise + std::uniform_int_distribution<int>(0, 9)(random), 100 * random.epoch() + i};
  }
};

// The noise of each item of some epochs.
std::map<std::int64_t, double> noise_of(const data::BatchOptions& options, int epochs) {
  std::map<std::int64_t, double> noise;
  data::Batches batches(Noisy(), options);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (const auto batch = batches.next()) {
      const auto values = (*batch)[0].to_vector<double>();
      const auto labels = (*batch)[1].to_vector<std::int64_t>();
      for (std::size_t i = 0; i < values.size(); ++i) noise[labels[i]] = values[i];
    }
  }
  return noise;
}

TEST_F(BatchesTest, RandomNumbersOfAnItemDependOnSeedEpochAndIndexAlone) {
  const auto noise = noise_of({.batch_size = 4, .seed = 2}, 2);
  EXPECT_EQ(noise.size(), 40U);
  std::set<double> different;
  for (const auto& [label, value] : noise) different.insert(value);
  EXPECT_EQ(different.size(), 40U);
  set_engine_options({.workers = 1, .source_threads = 7});
  EXPECT_EQ(noise_of({.batch_size = 3, .shuffled = false, .seed = 2, .ahead = 6}, 2), noise);
  EXPECT_NE(noise_of({.batch_size = 4, .seed = 3}, 2), noise);
}

TEST_F(BatchesTest, BytesOfARangeStayBytes) {
  using Item = std::pair<std::vector<std::uint8_t>, std::uint8_t>;
  data::Batches batches(std::vector<Item>{{{0, 255}, 3}, {{7, 128}, 4}}, {.batch_size = 2, .shuffled = false});
  const auto batch = *batches.next();
  EXPECT_EQ(batch[0].to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255, 7, 128}));
  EXPECT_EQ(batch[1].to_vector<std::int64_t>(), (Labels{3, 4}));
}

TEST_F(BatchesTest, BadOptionsAreRefused) {
  EXPECT_THAT(message_of([] { data::Batches(Numbered{1}, {.batch_size = 0}); }),
              HasSubstr("batch_size must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { data::Batches(Numbered{1}, {.ahead = -1}); }),
              HasSubstr("ahead must be at least 0, got -1"));
}

TEST(Shuffled, IsAPermutationOfItsArguments) {
  EXPECT_EQ(data::shuffled(0, 1, 2), Labels{});
  EXPECT_EQ(data::shuffled(1, 1, 2), Labels{0});
  const Labels one = data::shuffled(1000, 1, 2);
  EXPECT_EQ(one, data::shuffled(1000, 1, 2));
  EXPECT_NE(one, data::shuffled(1000, 2, 2));
  EXPECT_NE(one, data::shuffled(1000, 1, 3));
  Labels sorted = one;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], static_cast<std::int64_t>(i));
}

// Each of the six orders of three comes up about as often as the others.
TEST(Shuffled, IsFair) {
  std::array<int, 27> seen{};
  constexpr int times = 60'000;
  for (int epoch = 0; epoch < times; ++epoch) {
    const Labels order = data::shuffled(3, 5, epoch);
    ++seen[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
  }
  for (const int count : seen) {
    if (count != 0) {
      EXPECT_NEAR(count, times / 6, 500);
    }
  }
}

}  // namespace
}  // namespace asyncgrad::tests
