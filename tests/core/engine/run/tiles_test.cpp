// Operations in many tiles, by kernels made for the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/error.h"
#include "tests/core/engine/other_fill.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using detail::KernelCall;

std::atomic<int> runs{0};

void add_one(const KernelCall& call, int tile) {
  ++runs;
  call.data<float>(0)[tile] = static_cast<float>(tile % 1000);
}

// A kernel has more tiles than an entry can count. Each tile runs once all the same.
TEST(Tiles, MayBeMoreThanARecordCounts) {
  constexpr int tiles = 200'000;
  for (const Schedule schedule : {Schedule::oldest_first, Schedule::first_ready}) {
    set_engine_options({.workers = 2, .schedule = schedule});
    const OtherFill fill({.run = add_one, .tiles = [](const KernelCall&) { return tiles; }});
    runs = 0;
    const std::vector<float> values = zeros({tiles}).to_vector<float>();
    EXPECT_EQ(runs.load(), tiles);
    int wrong = 0;
    for (int i = 0; i < tiles; ++i)
      wrong += values[static_cast<std::size_t>(i)] == static_cast<float>(i % 1000) ? 0 : 1;
    EXPECT_EQ(wrong, 0);
  }
}

std::atomic<int> with_data{0}, without_data{0};

std::int64_t note_asked(const KernelCall& call) {
  EXPECT_EQ(call.bytes(0), nullptr);
  ++without_data;
  return call.numel(0);
}
void note_started(const KernelCall& call) {
  EXPECT_NE(call.bytes(0), nullptr);
  ++with_data;
}

// The functions that depend on shapes, types and attributes alone are called without data. `prepare` and every tile get
// the data, whichever thread runs them.
TEST(Tiles, HaveTheDataThatTheirCountDoesNotNeed) {
  for (const int count : {1, 64}) {
    set_engine_options({.workers = 2});
    const OtherFill fill({.run = [](const KernelCall& call, int) { note_started(call); },
                          .tiles = [](const KernelCall& call) { return static_cast<int>(note_asked(call)); },
                          .prepare = note_started,
                          .cost = note_asked});
    with_data = without_data = 0;
    zeros({count}).wait();
    EXPECT_EQ(with_data.load(), count + 1) << "the tiles, and prepare";
    EXPECT_GT(without_data.load(), 0);
  }
}

TEST(Tiles, ThatFailMakeOneErrorTogether) {
  set_engine_options({.workers = 2});
  const OtherFill fill({.run = [](const KernelCall&, int tile) { throw Error("[fill] tile " + std::to_string(tile)); },
                        .tiles = [](const KernelCall&) { return 64; }});
  for (int round = 0; round < 100; ++round) {
    const Tensor bad = zeros({64});
    EXPECT_THAT(message_of([&] { bad.wait(); }), testing::StartsWith("[fill] tile "));
    EXPECT_EQ(message_of([] { wait_all(); }), "nothing was thrown");
    EXPECT_EQ(recover(), 0);
  }
}

TEST(Tiles, MayThrowWhatIsNoException) {
  set_engine_options({.workers = 2});
  const OtherFill fill({.run = [](const KernelCall&, int) { throw 7; }});
  const Tensor bad = zeros({4});
  EXPECT_THAT(message_of([&] { bad.wait(); }), testing::StartsWith("[fill] failed for an unknown reason"));
  recover();
}

// An exception of the program's may have nothing to say.
TEST(Tiles, MayThrowWhatSaysNothing) {
  struct Silent : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  struct Empty : std::exception {
    const char* what() const noexcept override { return ""; }
  };
  set_engine_options({.workers = 2});
  for (const bool is_null : {true, false}) {
    const auto run =
        is_null ? [](const KernelCall&, int) { throw Silent(); } : [](const KernelCall&, int) { throw Empty(); };
    const OtherFill fill({.run = run});
    const Tensor bad = zeros({4});
    EXPECT_THAT(
        message_of([&] { bad.wait(); }),
        testing::MatchesRegex("\\[fill\\] failed with an exception without a message, .*(Silent|Empty)(.|\n)*"));
    recover();
  }
}

// Its results are there: what it was refused is its own affair.
TEST(Tiles, MayBeRefusedMemory) {
  set_engine_options({.workers = 2});
  const OtherFill fill({.run = [](const KernelCall&, int) { throw std::bad_alloc(); }});
  const Tensor bad = zeros({4});
  EXPECT_THAT(message_of([&] { bad.wait(); }),
              testing::StartsWith("[fill] out of memory: the system refused what the kernel asked for, "));
  recover();
}

TEST(Tiles, AMissingKernelIsToldAtTheCall) {
  set_engine_options({.workers = 2});
  const OtherFill fill({});
  EXPECT_EQ(message_of([] { static_cast<void>(zeros({4})); }), "[fill] has no kernel for cpu");
}

}  // namespace
}  // namespace asyncgrad::tests
