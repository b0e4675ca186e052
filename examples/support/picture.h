// The demonstrations' pictures, drawn by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/json.h"

namespace support {

using asyncgrad::experiment::Json;

// A named line of a chart.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_x = false, log_y = false;
};

// The gnuplot program that draws a chart, as svg or png, as `file` ends.
std::string chart_plot(const Chart& chart, const std::string& file);
// The gnuplot program that draws a trace of profiler::stop(): each thread is a row that shows what the thread computed
// and when it waited; a tick marks where an operation was queued. Empty if the trace shows nothing.
std::string timeline_plot(const Json& trace, const std::string& title, const std::string& file);

}  // namespace support
