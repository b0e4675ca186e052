// The common functions of the profiler's tests: a program's trace, and its events.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "asyncgrad/core/profiler.h"

namespace asyncgrad::tests {

// An event as "Trace Event Format" of the Chromium project describes it. Fields that an event lacks are empty or 0.
struct TraceEvent {
  std::string name;
  std::string phase;     // "ph": X a span, s and f the ends of an arrow, C a counter, M a row's name
  std::string category;  // "cat"
  int row = 0;           // "tid"
  int id = 0;            // of an arrow
  double begin_us = 0, duration_us = 0;
  // The "args", by their type.
  std::map<std::string, std::string> texts{};
  std::map<std::string, double> numbers{};

  double end_us() const { return begin_us + duration_us; }
  std::uint64_t number() const { return static_cast<std::uint64_t>(numbers.at("number")); }  // of the operation
};
std::ostream& operator<<(std::ostream& out, const TraceEvent& event);

using Trace = std::vector<TraceEvent>;

// Records what programs do, and reads the file.
class RecordsTraces : public testing::Test {
 protected:
  RecordsTraces();
  ~RecordsTraces() override;

  // The trace of what `program` does.
  Trace trace_of(const std::function<void()>& program);

  std::string path_;
  profiler::Summary summary_;
};

Trace of_phase(const Trace& trace, const std::string& phase);
Trace of_category(const Trace& trace, const std::string& category);
Trace of_name(const Trace& trace, const std::string& name);
Trace operations(const Trace& trace);

// Trains a small network for a few steps.
void train(int steps);

std::map<int, std::string> row_names(const Trace& trace);

// Expects that the spans of one thread lie apart or within each other.
void expect_nested(const Trace& trace);

}  // namespace asyncgrad::tests
