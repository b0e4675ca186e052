#include "asyncgrad/experiment/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/experiment/results.h"

namespace asyncgrad::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double mebibyte = 1024 * 1024;

Measurement run(const char* name, double total_s, double frontend_s, double peak_mebibytes, const char* hash = "00ff") {
  return {.name = name,
          .frontend_s = frontend_s,
          .total_s = total_s,
          .serial_peak_bytes = static_cast<std::int64_t>(50 * mebibyte),
          .peak_live_bytes = static_cast<std::int64_t>(peak_mebibytes * mebibyte),
          .peak_rss_growth_bytes = 2048,
          .peak_queued_operations = 4000,
          .parameters_hash = hash};
}

Measurement repeated(Measurement run, int repetition) {
  run.repetition = repetition;
  return run;
}

constexpr Figure total = figure_of<&Measurement::total_s>, frontend = figure_of<&Measurement::frontend_s>;

TEST(Results, MedianOfOddAndEven) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Results, FiguresAndRatiosAreMediansOverRepetitions) {
  Measurements runs;
  const double none_s[] = {10, 30, 20}, batch_s[] = {5, 10, 40};
  for (int i = 0; i < 3; ++i) {
    runs.push_back(repeated(run("none", none_s[i], 0.1 * none_s[i], 60), i + 1));
    runs.push_back(repeated(run("batch", batch_s[i], batch_s[i], 30), i + 1));
  }
  EXPECT_THAT(names_of(runs), ElementsAre("none", "batch"));
  EXPECT_EQ(median_of(runs, "none", total), 20);
  EXPECT_EQ(ratio(runs, "none", "batch", total), 2);  // of 2, 3 and 0.5: not the ratio of the medians
  EXPECT_DOUBLE_EQ(*share(runs, "none", frontend, total), 0.1);
  EXPECT_FALSE(median_of(runs, "immediate", total));
  EXPECT_FALSE(ratio(runs, "none", "immediate", total));
}

TEST(Results, ARepetitionThatFailedLeavesItsPairOut) {
  const Measurements runs = {repeated(run("none", 10, 1, 60), 1), repeated(run("none", 20, 1, 60), 2),
                             repeated(run("batch", 10, 10, 60), 2)};
  EXPECT_EQ(ratio(runs, "none", "batch", total), 2);
}

TEST(Results, UnitsFitTheNumber) {
  EXPECT_EQ(seconds_text(9.3125), "9.312 s");
  EXPECT_EQ(seconds_text(0.00213), "2.13 ms");
  EXPECT_EQ(seconds_text(0.0000812), "81 us");
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(61.25 * mebibyte), "61.2 MiB");
  EXPECT_EQ(bytes_text(1.5 * 1024 * mebibyte), "1.50 GiB");
}

TEST(Table, ColumnsAreAligned) {
  EXPECT_EQ(
      table({run("batch", 9.5, 9.4, 61), run("none:first_ready", 9.25, 0.002, 1024)}),
      "run               time per epoch       queued in       peak live   growth of RSS  most operations queued\n"
      "batch                    9.500 s         9.400 s        61.0 MiB         2.0 KiB                    4000\n"
      "none:first_ready         9.250 s         2.00 ms        1.00 GiB         2.0 KiB                    4000\n");
}

TEST(Table, WhatWasNotMeasuredIsBlank) {
  Measurement shared = run("none", 9.5, 9.4, 61);
  shared.peak_rss_growth_bytes = std::nullopt;
  EXPECT_EQ(table({shared}),
            "run   time per epoch       queued in       peak live   growth of RSS  most operations queued\n"
            "none         9.500 s         9.400 s        61.0 MiB                                    4000\n");
}

TEST(Sentences, CompareTheRunsThatAreThere) {
  const Measurements all = {run("in-flight:1", 10, 10, 60), run("none", 10, 0.002, 61),
                            run("none:unbounded", 9.9, 0.002, 90), run("none:first_ready", 10.5, 0.002, 244)};
  EXPECT_EQ(sentences(all),
            "Without barriers the loop was queued in 2.00 ms of 10.000 s (0.02 %); it took 1.02 times the memory and "
            "1.00 times the time of in-flight:1, a full barrier for every batch.\n"
            "Compared with none, the loop took 1.48 times the memory and 0.99 times the time without a memory budget "
            "(none:unbounded), and 4.00 times the memory and 1.05 times the time running first what was ready first "
            "(none:first_ready).\n"
            "All 4 runs ended with the same parameters, bit for bit.\n");
}

TEST(Sentences, SayNothingOfRunsThatAreNotThere) {
  EXPECT_EQ(sentences({run("none", 10, 0.002, 55)}),
            "Without barriers the loop was queued in 2.00 ms of 10.000 s (0.02 %); its live memory peaked at 55.0 MiB, "
            "1.10 times what the program needs in its own order.\n");
  EXPECT_THAT(sentences({run("batch", 10, 10, 55)}), HasSubstr("The loop of batch was queued in 10.000 s of 10.000 s"));
  const std::string some = sentences({run("none", 10, 1, 55), run("none:first_ready", 10, 1, 110)});
  EXPECT_THAT(some, Not(HasSubstr("unbounded")));
  EXPECT_THAT(some, HasSubstr("the loop took 2.00 times the memory and 1.00 times the time running first what was"));
  EXPECT_EQ(sentences({}), "");
}

TEST(Sentences, DifferentParametersAreNotHidden) {
  EXPECT_THAT(sentences({run("none", 10, 1, 55, "a"), run("batch", 10, 1, 55, "b")}),
              HasSubstr("The 2 runs ended with 2 different sets of parameters."));
}

}  // namespace
}  // namespace asyncgrad::experiment
