#include "asyncgrad/experiment/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace asyncgrad::experiment {
namespace {

using testing::HasSubstr;
using testing::Not;

using Samples = std::vector<LiveBytesTimeline::Sample>;

Measurement run(const char* name, const Samples& timeline) {
  return {.name = name,
          .batches = 4,
          .options = {{"batch_size", std::int64_t{1024}}, {"note", std::string("it's")}},
          .total_s = 2.5,
          .live_bytes_timeline = timeline};
}

const Samples two_samples{{0.0, 1 << 20}, {1.0, 3 << 20}};

TEST(Plot, EveryRunIsALineOfMaxima) {
  const Samples close = {{0.0, 1 << 20}, {0.001, 4 << 20}, {0.002, 2 << 20}, {2.0, 3 << 20}};  // three within a point
  const std::string program = memory_plot({run("none", two_samples), run("none:first_ready", close)}, "a.svg");
  EXPECT_THAT(program, HasSubstr("set terminal svg"));
  EXPECT_THAT(program, HasSubstr("training 4 batches: batch_size 1024; note it''s' noenhanced\n"));
  EXPECT_THAT(program, HasSubstr("$run0 << EOD\n0.000000 1.0000\n1.000000 3.0000\nEOD\n"));
  EXPECT_THAT(program, HasSubstr("$run1 << EOD\n0.000000 4.0000\n2.000000 3.0000\nEOD\n"));
  EXPECT_THAT(program, HasSubstr("title 'none:first_ready'"));
  EXPECT_THAT(memory_plot({run("none", two_samples)}, "a.png"), HasSubstr("set terminal pngcairo"));
}

TEST(Plot, ALongTitleHasSeveralLines) {
  Measurement many = run("none", two_samples);
  for (int i = 0; i < 5; ++i) many.options.emplace_back("some_option", std::string("some text of a user"));
  EXPECT_THAT(memory_plot({many}, "a.svg"), HasSubstr("; note it''s; some_option some text of'.\"\\n\".'a user; "));
}

TEST(Plot, WithManyBatchesAPointIsTheMaximumOfTwo) {
  Measurement many =
      run("none", {{0.0, 1 << 20}, {0.04, 4 << 20}, {0.06, 2 << 20}});  // 100 batches in 2.5 s: 0.05 s for two
  many.batches = 100;
  EXPECT_THAT(memory_plot({many}, "a.svg"), HasSubstr("EOD\n0.000000 4.0000\n0.050000 2.0000\nEOD\n"));
}

TEST(Plot, RunsWithoutSamplesHaveNoLine) {
  EXPECT_THAT(memory_plot({run("none", two_samples), run("batch", {})}, "a.svg"), Not(HasSubstr("batch'")));
  EXPECT_EQ(memory_plot({run("none", {})}, "a.svg"), "");
}

TEST(Plot, WhyThereIsNoPictureIsReported) {
  EXPECT_EQ(draw_memory({}, "a.svg"), "no change of live memory was recorded");
}

}  // namespace
}  // namespace asyncgrad::experiment
