#include "asyncgrad/experiment/timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::experiment {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

TEST(Timer, RecordsEachStop) {
  Timer timer;
  const double first = timer.stop();
  timer.start();
  const double second = timer.stop();
  EXPECT_THAT(timer.times(), ElementsAre(first, second));
  EXPECT_EQ(timer.sum(), first + second);
  EXPECT_EQ(timer.avg(), (first + second) / 2);
  EXPECT_THAT(timer.cumsum(), ElementsAre(first, first + second));
}

TEST(Timer, GoesOnUntilItIsStartedAnew) {
  Timer timer;
  const double first = timer.stop();
  EXPECT_GE(timer.stop(), first);
}

TEST(Timer, WithoutTimesSumsToNothing) {
  const Timer timer;
  EXPECT_EQ(timer.sum(), 0);
  EXPECT_EQ(timer.avg(), 0);
  EXPECT_TRUE(timer.cumsum().empty());
}

TEST(Benchmark, PrintsSecondsAtTheEndOfItsScope) {
  testing::internal::CaptureStdout();
  {
    const Benchmark benchmark("ten products");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    testing::internal::CaptureStdout();
  }
  { const Benchmark benchmark; }
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              MatchesRegex("ten products: [0-9]+\\.[0-9]{4} sec\nDone: [0-9]+\\.[0-9]{4} sec\n"));
}

TEST(Benchmark, WaitsForNothing) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  {
    tests::Gate gate;
    const Tensor held = ones({1000});
    gate.wait_until_held();
    testing::internal::CaptureStdout();
    Timer timer;
    { const Benchmark benchmark; }
    timer.stop();
    testing::internal::GetCapturedStdout();
    EXPECT_FALSE(gate.is_open());
    EXPECT_EQ(engine_figures().queued, 1);
  }
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::experiment
