// What the profiler shows of devices that run on their own, by their own clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/tests/core/engine/fake_device.h"
#include "asyncgrad/tests/core/engine/random_program.h"
#include "asyncgrad/tests/core/recorded_trace.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

class ProfilerOfDevices : public RecordsTraces {};

// The spans of operations on each row, in their order.
std::map<std::string, std::vector<json>> operations_by_row(const json& trace) {
  std::map<std::string, std::vector<json>> rows;
  for (const json& span : operations(trace)) rows[row_names(trace).at(span.at("tid"))].push_back(span);
  return rows;
}

// A queue does one thing after another.
void expect_apart(std::vector<json> spans) {
  std::ranges::sort(spans, {}, [](const json& span) { return std::pair(begin_us(span), end_us(span)); });
  double before_us = 0;
  for (const json& span : spans) {
    EXPECT_GE(begin_us(span), before_us - 1e-3) << span;
    EXPECT_GE(span.at("dur"), 0) << span;
    before_us = end_us(span);
  }
}

TEST_F(ProfilerOfDevices, DevicesHaveRowsOfTheirOwn) {
  const FakeDevices devices;
  for (int recording = 0; recording < 3; ++recording) {
    const json trace = trace_of([] {
      Tensor x = full({1000}, 1).to("cuda:0");
      for (int i = 0; i < 40; ++i) x = x * 0.5;
      x.to_vector<float>();
    });
    std::map<std::string, std::size_t> counts;
    for (const auto& [row, spans] : operations_by_row(trace)) {
      counts[row] = spans.size();
      expect_apart(spans);
      EXPECT_GE(begin_us(spans.front()), 0);
      EXPECT_LE(end_us(spans.back()), summary_.elapsed_s * 1e6);
    }
    EXPECT_EQ(counts["cuda:0 compute"], 40U);
    EXPECT_EQ(counts["cuda:0 copies in"], 1U);
    EXPECT_EQ(counts["cuda:0 copies out"], 1U);
    expect_nested(trace);
  }
}

TEST_F(ProfilerOfDevices, ADeviceBeginsAfterTheLaunch) {
  const FakeDevices devices;
  const json trace = trace_of([] { (full({1000}, 1, {.device = "cuda:0"}) + 1.0).wait(); });
  std::map<std::uint64_t, double> issued_us;
  for (const json& span : events(trace, "cat", "issue")) {
    EXPECT_EQ(row_names(trace).at(span.at("tid")), "cuda:0 launch");
    issued_us[number_of(span)] = begin_us(span);
  }
  EXPECT_EQ(issued_us.size(), 2U);
  for (const json& span : operations(trace)) {
    EXPECT_GE(begin_us(span), issued_us.at(number_of(span)));
    EXPECT_EQ(span.at("args").at("issued_us"), issued_us.at(number_of(span)));
  }
}

TEST_F(ProfilerOfDevices, WhatADeviceSkippedHasNoTimeOfIt) {
  const FakeDevices devices;
  Tensor x = full({10}, 1, {.device = "cuda:0"});
  x.wait();
  const json trace = trace_of([&] {
    FakeDevices::refuse_issues(1);
    x += 1.0;
    EXPECT_THROW((x * 2.0).wait(), Error);
  });
  EXPECT_EQ(operations(trace).size(), 2U);
  for (const json& span : operations(trace)) {
    EXPECT_EQ(row_names(trace).at(span.at("tid")), "cuda:0 launch");
    EXPECT_TRUE(span.at("args").contains("failed"));
  }
  recover();
}

TEST_F(ProfilerOfDevices, RandomProgramsOnDevicesAreRecordedWhole) {
  for (int seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const FakeDevices devices({.seed = static_cast<std::uint64_t>(seed)});
    const RandomDelays delays(static_cast<std::uint64_t>(seed), /*fail_one_in=*/40);
    const json trace = trace_of([&] {
      run_program({.seed = static_cast<std::uint64_t>(seed), .devices = {"cuda:0", "cuda:1"}}, {.workers = 2});
    });
    for (const auto& [row, spans] : operations_by_row(trace)) {
      if (row.starts_with("cuda") && !row.ends_with("launch")) expect_apart(spans);
    }
    expect_nested(trace);
    recover();
  }
}

TEST_F(ProfilerOfDevices, TheSummaryCountsDevicesTime) {
  const FakeDevices devices;
  set_engine_options({.workers = 2});
  const json trace = trace_of([] {
    Tensor x = full({1000}, 1, {.device = "cuda:0"});
    for (int i = 0; i < 40; ++i) x = x * 0.5;
    x.wait();
  });
  std::map<std::string, double> total_us;
  for (const json& span : operations(trace)) total_us[span.at("name")] += span.at("dur").get<double>();
  double all_s = 0;
  for (const profiler::OperationTimes& times : summary_.operations) {
    EXPECT_EQ(times.count, times.name == "fill" ? 1 : 40) << times.name;
    EXPECT_NEAR(times.total_s * 1e6, total_us.at(times.name), 1e-3 * 40) << times.name;
    all_s += times.total_s;
  }
  EXPECT_DOUBLE_EQ(summary_.devices_s, all_s);
  EXPECT_NEAR(summary_.total_s(),
              2 * summary_.elapsed_s + summary_.devices_s + summary_.elapsed_s - summary_.front_end_wait_s,
              1e-6 * summary_.elapsed_s);
  EXPECT_THAT(summary_.str(), HasSubstr("2 threads, GPUs and front end"));
}

}  // namespace
}  // namespace asyncgrad::tests
