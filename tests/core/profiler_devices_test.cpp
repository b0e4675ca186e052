// The profiler's records of devices that run on their own, by their own clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/fake_device.h"
#include "tests/core/engine/random_program.h"
#include "tests/core/recorded_trace.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

class ProfilerOfDevices : public RecordsTraces {};

// The spans of operations on each row, in their order.
std::map<std::string, Trace> operations_by_row(const Trace& trace) {
  std::map<std::string, Trace> rows;
  for (const TraceEvent& span : operations(trace)) rows[row_names(trace).at(span.row)].push_back(span);
  return rows;
}

// Expects that no spans overlap, as a queue does one thing after another.
void expect_apart(Trace spans) {
  std::ranges::sort(spans, {}, [](const TraceEvent& span) { return std::pair(span.begin_us, span.end_us()); });
  double before_us = 0;
  for (const TraceEvent& span : spans) {
    EXPECT_GE(span.begin_us, before_us - 1e-3) << span;
    EXPECT_GE(span.duration_us, 0) << span;
    before_us = span.end_us();
  }
}

TEST_F(ProfilerOfDevices, DevicesHaveRowsOfTheirOwn) {
  const FakeDevices devices;
  for (int recording = 0; recording < 3; ++recording) {
    const Trace trace = trace_of([] {
      Tensor x = full({1000}, 1).to("cuda:0");
      for (int i = 0; i < 40; ++i) x = x * 0.5;
      x.to_vector<float>();
    });
    std::map<std::string, std::size_t> counts;
    for (const auto& [row, spans] : operations_by_row(trace)) {
      counts[row] = spans.size();
      expect_apart(spans);
      EXPECT_GE(spans.front().begin_us, 0);
      EXPECT_LE(spans.back().end_us(), summary_.elapsed_s * 1e6);
    }
    EXPECT_EQ(counts["cuda:0 compute"], 40U);
    EXPECT_EQ(counts["cuda:0 copies in"], 1U);
    EXPECT_EQ(counts["cuda:0 copies out"], 1U);
    expect_nested(trace);
  }
}

TEST_F(ProfilerOfDevices, ADeviceBeginsAfterTheLaunch) {
  const FakeDevices devices;
  const Trace trace = trace_of([] { (full({1000}, 1, {.device = "cuda:0"}) + 1.0).wait(); });
  std::map<std::uint64_t, double> issued_us;
  for (const TraceEvent& span : of_category(trace, "issue")) {
    EXPECT_EQ(row_names(trace).at(span.row), "cuda:0 launch");
    issued_us[span.number()] = span.begin_us;
  }
  EXPECT_EQ(issued_us.size(), 2U);
  for (const TraceEvent& span : operations(trace)) {
    EXPECT_GE(span.begin_us, issued_us.at(span.number()));
    EXPECT_EQ(span.numbers.at("issued_us"), issued_us.at(span.number()));
  }
}

TEST_F(ProfilerOfDevices, WhatADeviceSkippedHasNoTimeOfIt) {
  const FakeDevices devices;
  Tensor x = full({10}, 1, {.device = "cuda:0"});
  x.wait();
  const Trace trace = trace_of([&] {
    FakeDevices::refuse_issues(1);
    x += 1.0;
    EXPECT_THROW((x * 2.0).wait(), Error);
  });
  EXPECT_EQ(operations(trace).size(), 2U);
  for (const TraceEvent& span : operations(trace)) {
    EXPECT_EQ(row_names(trace).at(span.row), "cuda:0 launch");
    EXPECT_TRUE(span.texts.contains("failed"));
  }
  recover();
}

TEST_F(ProfilerOfDevices, RandomProgramsOnDevicesAreRecordedWhole) {
  for (int seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const FakeDevices devices({.seed = static_cast<std::uint64_t>(seed)});
    const RandomDelays delays(static_cast<std::uint64_t>(seed), /*fail_one_in=*/40);
    const Trace trace = trace_of([&] {
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
  const Trace trace = trace_of([] {
    Tensor x = full({1000}, 1, {.device = "cuda:0"});
    for (int i = 0; i < 40; ++i) x = x * 0.5;
    x.wait();
  });
  std::map<std::string, double> total_us;
  for (const TraceEvent& span : operations(trace)) total_us[span.name] += span.duration_us;
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
