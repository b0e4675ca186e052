// What tests of the profiler share: a program's trace, and what is in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

using nlohmann::json;

// Records what programs do, and reads the file.
class RecordsTraces : public testing::Test {
 protected:
  ~RecordsTraces() override {
    std::filesystem::remove(path_);
    set_engine_options({});
  }

  // The trace of what `program` does.
  json trace_of(const std::function<void()>& program) {
    profiler::start();
    program();
    summary_ = profiler::stop(path_);
    std::ifstream file(path_);
    return json::parse(file).at("traceEvents");
  }

  std::string path_ =
      std::filesystem::path(testing::TempDir()) / ("asyncgrad_trace_" + std::to_string(getpid()) + ".json");
  profiler::Summary summary_;
};

inline std::vector<json> events(const json& trace, const std::string& key, const std::string& value) {
  std::vector<json> found;
  std::ranges::copy_if(trace, std::back_inserter(found),
                       [&](const json& event) { return event.contains(key) && event.at(key) == value; });
  return found;
}
inline std::vector<json> operations(const json& trace) { return events(trace, "cat", "operation"); }
inline double begin_us(const json& event) { return event.at("ts"); }
inline double end_us(const json& event) { return event.at("ts").get<double>() + event.at("dur").get<double>(); }
inline std::uint64_t number_of(const json& span) { return span.at("args").at("number"); }

inline std::map<int, std::string> row_names(const json& trace) {
  std::map<int, std::string> names;
  for (const json& event : events(trace, "name", "thread_name")) names[event.at("tid")] = event.at("args").at("name");
  return names;
}

// Spans of one thread lie apart or within each other.
inline void expect_nested(const json& trace) {
  std::map<int, std::vector<json>> rows;
  for (const json& span : events(trace, "ph", "X")) rows[span.at("tid")].push_back(span);
  for (auto& [row, spans] : rows) {
    std::ranges::sort(spans, [](const json& a, const json& b) {
      return begin_us(a) != begin_us(b) ? begin_us(a) < begin_us(b) : end_us(a) > end_us(b);
    });
    std::vector<double> open_until_us;
    for (const json& span : spans) {
      while (!open_until_us.empty() && open_until_us.back() <= begin_us(span) + 1e-4) open_until_us.pop_back();
      if (!open_until_us.empty()) {
        EXPECT_LE(end_us(span), open_until_us.back() + 2e-3) << span;
      }
      open_until_us.push_back(end_us(span));
    }
  }
}

}  // namespace asyncgrad::tests
