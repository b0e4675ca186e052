// The demonstrations' pictures, drawn by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "examples/support/machine.h"

namespace support {

// A line with a name.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_x = false, log_y = false;
};

// The gnuplot programs that write to standard output, as svg or png by `file`'s ending.
std::string chart_plot(const Chart& chart, const std::string& file);
// A row for each thread of a trace as profiler::stop() writes it, with what it computed and when it waited; a tick
// where an operation was queued.
std::string timeline_plot(const Json& trace, const std::string& title, const std::string& file);

}  // namespace support
