#include "tests/core/recorded_trace.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

namespace {

using nlohmann::json;

TraceEvent event_of(const json& event) {
  TraceEvent made{.name = event.at("name"), .phase = event.at("ph"), .category = event.value("cat", "")};
  made.row = event.value("tid", 0);
  made.id = event.value("id", 0);
  if (made.phase != "M") made.begin_us = event.at("ts");
  if (made.phase == "X") made.duration_us = event.at("dur");
  if (event.contains("args")) {
    for (const auto& [key, value] : event.at("args").items()) {
      if (value.is_number()) {
        made.numbers[key] = value;
      } else {
        made.texts[key] = value.is_string() ? value.get<std::string>() : value.dump();
      }
    }
  }
  return made;
}

template <class Predicate>
Trace filtered(const Trace& trace, const Predicate& predicate) {
  Trace found;
  std::ranges::copy_if(trace, std::back_inserter(found), predicate);
  return found;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TraceEvent& event) {
  out << event.name << " (" << event.phase << " " << event.category << ") on row " << event.row << " from "
      << event.begin_us << " to " << event.end_us() << " us";
  for (const auto& [key, value] : event.texts) out << ", " << key << " " << value;
  for (const auto& [key, value] : event.numbers) out << ", " << key << " " << value;
  return out;
}

RecordsTraces::RecordsTraces()
    : path_(std::filesystem::path(testing::TempDir()) / ("asyncgrad_trace_" + std::to_string(getpid()) + ".json")) {}

RecordsTraces::~RecordsTraces() {
  std::filesystem::remove(path_);
  set_engine_options({});
}

Trace RecordsTraces::trace_of(const std::function<void()>& program) {
  profiler::start();
  program();
  summary_ = profiler::stop(path_);
  std::ifstream file(path_);
  const json recorded = json::parse(file);
  Trace trace;
  for (const json& event : recorded.at("traceEvents")) trace.push_back(event_of(event));
  return trace;
}

Trace of_phase(const Trace& trace, const std::string& phase) {
  return filtered(trace, [&](const TraceEvent& event) { return event.phase == phase; });
}
Trace of_category(const Trace& trace, const std::string& category) {
  return filtered(trace, [&](const TraceEvent& event) { return event.category == category; });
}
Trace of_name(const Trace& trace, const std::string& name) {
  return filtered(trace, [&](const TraceEvent& event) { return event.name == name; });
}
Trace operations(const Trace& trace) { return of_category(trace, "operation"); }

void train(int steps) {
  const nn::Sequential net{nn::Dense(64, 128, relu), nn::Dense(128, 1)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01});
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({256, 64}), y = ones({256, 1});
    const Tensor loss = mean(nn::l2_loss(net(x), y));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
}

std::map<int, std::string> row_names(const Trace& trace) {
  std::map<int, std::string> names;
  for (const TraceEvent& event : of_name(trace, "thread_name")) names[event.row] = event.texts.at("name");
  return names;
}

void expect_nested(const Trace& trace) {
  std::map<int, Trace> rows;
  for (const TraceEvent& span : of_phase(trace, "X")) rows[span.row].push_back(span);
  for (auto& [row, spans] : rows) {
    std::ranges::sort(spans, [](const TraceEvent& a, const TraceEvent& b) {
      return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us() > b.end_us();
    });
    std::vector<double> open_until_us;
    for (const TraceEvent& span : spans) {
      while (!open_until_us.empty() && open_until_us.back() <= span.begin_us + 1e-4) open_until_us.pop_back();
      if (!open_until_us.empty()) {
        EXPECT_LE(span.end_us(), open_until_us.back() + 2e-3) << span;
      }
      open_until_us.push_back(span.end_us());
    }
  }
}

}  // namespace asyncgrad::tests
