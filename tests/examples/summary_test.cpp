#include "examples/support/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/support/results.h"

namespace support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double mebibyte = 1024 * 1024;

Json run(const char* name, double total_s, double frontend_s, double peak_mebibytes, const char* hash = "00ff") {
  return {{"name", name},
          {"total_s", total_s},
          {"frontend_s", frontend_s},
          {"peak_live_bytes", peak_mebibytes * mebibyte},
          {"serial_peak_bytes", 50 * mebibyte},
          {"peak_rss_growth_bytes", 2048},
          {"peak_queued_operations", 4000},
          {"parameters_hash", hash}};
}

Json repeated(Json run, int repetition) {
  run["repetition"] = repetition;
  return run;
}

TEST(Results, MedianOfOddAndEven) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Results, FiguresAndRatiosAreMediansOverRepetitions) {
  Json runs = Json::array();
  const double none_s[] = {10, 30, 20}, batch_s[] = {5, 10, 40};
  for (int i = 0; i < 3; ++i) {
    runs.push_back(repeated(run("none", none_s[i], 0.1 * none_s[i], 60), i + 1));
    runs.push_back(repeated(run("batch", batch_s[i], batch_s[i], 30), i + 1));
  }
  EXPECT_THAT(names_of(runs), ElementsAre("none", "batch"));
  EXPECT_EQ(figure(runs, "none", "total_s"), 20);
  EXPECT_EQ(ratio(runs, "none", "batch", "total_s"), 2);  // of 2, 3 and 0.5: not the ratio of the medians
  EXPECT_DOUBLE_EQ(*share(runs, "none", "frontend_s", "total_s"), 0.1);
  EXPECT_FALSE(figure(runs, "immediate", "total_s"));
  EXPECT_FALSE(ratio(runs, "none", "immediate", "total_s"));
}

TEST(Results, ARepetitionThatFailedLeavesItsPairOut) {
  const Json runs = {repeated(run("none", 10, 1, 60), 1), repeated(run("none", 20, 1, 60), 2),
                     repeated(run("batch", 10, 10, 60), 2)};
  EXPECT_EQ(ratio(runs, "none", "batch", "total_s"), 2);
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

TEST(Sentences, CompareTheRunsThatAreThere) {
  const Json all = {run("in-flight:1", 10, 10, 60), run("none", 10, 0.002, 61), run("none:unbounded", 9.9, 0.002, 90),
                    run("none:first_ready", 10.5, 0.002, 244)};
  EXPECT_EQ(sentences(all),
            "Without barriers the loop was queued in 2.00 ms of 10.000 s (0.02 %); it took 1.02 times the memory and "
            "1.00 times the time of in-flight:1, a full barrier for every batch.\n"
            "Compared with none, the loop took 1.48 times the memory and 0.99 times the time without a memory budget "
            "(none:unbounded), and 4.00 times the memory and 1.05 times the time running first what was ready first "
            "(none:first_ready).\n"
            "All 4 runs ended with the same parameters, bit for bit.\n");
}

TEST(Sentences, SayNothingOfRunsThatAreNotThere) {
  EXPECT_EQ(sentences(Json::array({run("none", 10, 0.002, 55)})),
            "Without barriers the loop was queued in 2.00 ms of 10.000 s (0.02 %); its live memory peaked at 55.0 MiB, "
            "1.10 times what the program needs in its own order.\n");
  EXPECT_THAT(sentences(Json::array({run("batch", 10, 10, 55)})),
              HasSubstr("The loop of batch was queued in 10.000 s of 10.000 s"));
  const std::string some = sentences(Json::array({run("none", 10, 1, 55), run("none:first_ready", 10, 1, 110)}));
  EXPECT_THAT(some, Not(HasSubstr("unbounded")));
  EXPECT_THAT(some, HasSubstr("the loop took 2.00 times the memory and 1.00 times the time running first what was"));
  EXPECT_EQ(sentences(Json::array()), "");
}

TEST(Sentences, DifferentParametersAreNotHidden) {
  EXPECT_THAT(sentences(Json::array({run("none", 10, 1, 55, "a"), run("batch", 10, 1, 55, "b")})),
              HasSubstr("The 2 runs ended with 2 different sets of parameters."));
}

}  // namespace
}  // namespace support
