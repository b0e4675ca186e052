#include "asyncgrad/experiment/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "asyncgrad/experiment/json.h"

namespace asyncgrad::experiment {
namespace {

Measurement measured() {
  return {.name = "in-flight:2",
          .barrier = "in-flight",
          .in_flight = 2,
          .memory_budget_bytes = 1 << 20,
          .batches = 4,
          .options = {{"lr", 0.1},
                      {"flag", true},
                      {"size", std::int64_t{7}},
                      {"text", std::string("it's")},
                      {"widths", std::vector<std::int64_t>{8, 4}}},
          .seed = ~std::uint64_t{0},
          .workers = 2,
          .operations = 76,
          .frontend_s = 0.1,
          .total_s = 1.0 / 3,
          .peak_live_bytes = 1LL << 40,
          .peak_rss_growth_bytes = 12,
          .live_bytes_timeline = {{0.0, 5}, {0.25, 7}},
          .first_loss = 0.7,
          .parameters_hash = "00ff",
          .repetition = 3};
}

TEST(Document, ALineSaysAllOfAMeasurement) {
  const std::string line = line_of(measured());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const std::optional<Measurement> found = measurement_in(line);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->options, measured().options);
  EXPECT_EQ(found->in_flight, 2);
  EXPECT_EQ(found->seed, ~std::uint64_t{0});
  EXPECT_EQ(found->total_s, 1.0 / 3);
  EXPECT_EQ(found->peak_rss_growth_bytes, 12);
  ASSERT_EQ(found->live_bytes_timeline.size(), 2U);
  EXPECT_EQ(found->live_bytes_timeline[1].live_bytes, 7);
  EXPECT_EQ(found->repetition, 3);
  EXPECT_EQ(line_of(*found), line);
}

TEST(Document, KeepsNumbersThatAreNotFinite) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::string line =
      line_of({.name = "none", .options = {{"bound", inf}}, .first_loss = -inf, .last_loss = -nan});
  const Json json = Json::parse(line);
  EXPECT_EQ(json.at("bound"), "inf");
  EXPECT_EQ(json.at("first_loss"), "-inf");
  EXPECT_EQ(json.at("last_loss"), "nan");
  const std::optional<Measurement> found = measurement_in(line);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first_loss, -inf);
  EXPECT_TRUE(std::isnan(found->last_loss));
  EXPECT_EQ(line_of(*found), line);
}

TEST(Document, WhatIsNotThereIsNull) {
  const Json json = Json::parse(line_of({.name = "none"}));
  for (const char* name : {"in_flight", "memory_budget_bytes", "peak_rss_growth_bytes"}) {
    EXPECT_TRUE(json.at(name).is_null()) << name;
  }
  EXPECT_FALSE(json.contains("repetition"));
  EXPECT_FALSE(measurement_in(line_of({.name = "none"}))->peak_rss_growth_bytes);
}

TEST(Document, WhatIsNoMeasurementGivesNone) {
  for (const char* text : {"", "{", "[]", "7", "{\"name\": 7}", "{\"live_bytes_timeline\": [1]}"}) {
    EXPECT_FALSE(measurement_in(text)) << text;
  }
  std::string half = line_of(measured());
  half.resize(half.size() / 2);
  EXPECT_FALSE(measurement_in(half));
}

TEST(Document, HoldsTheMachineAndEveryRun) {
  const std::string text = document_of({measured(), {.name = "none"}});
  const Json all = Json::parse(text);
  EXPECT_EQ(all["format"], 1);
  EXPECT_GE(all["machine"]["cores"], 1);
  ASSERT_EQ(all["runs"].size(), 2U);
  EXPECT_EQ(all["runs"][1]["name"], "none");
  EXPECT_THAT(text, testing::HasSubstr("\n" + line_of(measured()) + ",\n"));
}

}  // namespace
}  // namespace asyncgrad::experiment
