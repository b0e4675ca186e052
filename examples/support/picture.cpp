#include "examples/support/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "asyncgrad/experiment/plot.h"

namespace support {

using asyncgrad::experiment::color;
using asyncgrad::experiment::terminal;

namespace {

// The rows of a timeline, from the top, and the boxes in them.
struct Rows {
  std::vector<std::string> names;
  std::map<std::string, std::string> boxes;  // operation -> lines of "row begin_ms end_ms"
  std::map<std::string, double> total_ms;    // operation -> its time
  std::string waits, ticks;
};

// The threads that did something, as pairs of number and name, the front end first.
std::vector<std::pair<int, std::string>> threads_of(const Json& events) {
  std::map<int, std::string> names;
  std::map<int, int> places;
  for (const Json& event : events) {
    const std::string name = event.at("name");
    if (name == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (name == "thread_sort_index") places[event.at("tid")] = event.at("args").at("sort_index");
  }
  std::vector<std::pair<int, std::string>> threads;
  for (const auto& [number, name] : names) {
    const bool active = std::ranges::any_of(events, [number = number](const Json& event) {
      return event.value("tid", 0) == number && event.at("ph") != "M";
    });
    if (active) threads.emplace_back(number, name);
  }
  std::ranges::stable_sort(threads, {}, [&](const auto& thread) { return places[thread.first]; });
  return threads;
}

Rows rows_of(const Json& trace) {
  const Json& events = trace.at("traceEvents");
  Rows rows;
  std::map<int, int> row_of;
  for (const auto& [number, name] : threads_of(events)) {
    row_of[number] = static_cast<int>(rows.names.size());
    rows.names.push_back(name);
  }
  for (const Json& event : events) {
    const std::string kind = event.at("ph");
    if (kind != "X" && kind != "i") continue;
    const int row = row_of.at(event.at("tid"));
    const double begin_ms = event.at("ts").get<double>() / 1e3;
    const double end_ms = begin_ms + event.value("dur", 0.0) / 1e3;
    const std::string line = fmt::format("{} {:.6f} {:.6f}\n", row, begin_ms, end_ms);
    if (kind == "i") {
      rows.ticks += line;
    } else if (event.at("cat") == "wait") {
      rows.waits += line;
    } else {
      rows.boxes[event.at("name")] += line;
      rows.total_ms[event.at("name")] += end_ms - begin_ms;
    }
  }
  return rows;
}

// Adds a block of data, and the part of the plot command that draws its lines as boxes of this height.
void add_boxes(const std::string& data, const std::string& title, const char* color, double height,
               std::string& program, std::string& plot) {
  if (data.empty()) return;
  const std::string block = fmt::format("$d{}", std::ranges::count(plot, '$'));
  program += fmt::format("{} << EOD\n{}EOD\n", block, data);
  plot += fmt::format(
      "{} {} using 2:1:2:3:($1-{:.2f}):($1+{:.2f}) with boxxyerror fs solid noborder lc rgb '{}' title '{}'",
      plot.empty() ? "plot" : ",", block, height, height, color, title);
}

// There are few colors, so the operations that took the least time are drawn together as "others".
void add_operations(const Rows& rows, std::string& program, std::string& plot) {
  std::vector<std::pair<double, std::string>> longest;
  for (const auto& [name, total_ms] : rows.total_ms) longest.emplace_back(-total_ms, name);
  std::ranges::sort(longest);
  std::string others;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const std::string& name = longest[i].second;
    if (i < 5) {
      add_boxes(rows.boxes.at(name), name, color(i), 0.3, program, plot);
    } else {
      others += rows.boxes.at(name);
    }
  }
  add_boxes(others, "others", "#666666", 0.3, program, plot);
}

}  // namespace

std::string chart_plot(const Chart& chart, const std::string& file) {
  std::string program = terminal(file, 1000, 600);
  program +=
      fmt::format("set title '{}'\nset xlabel '{}'\nset ylabel '{}'\n", chart.title, chart.x_label, chart.y_label);
  if (chart.log_x) program += "set logscale x 2\nset format x '%.0f'\n";
  program += chart.log_y ? "set logscale y\n" : "set yrange [0:*]\n";
  program += "set key outside right center Left reverse noenhanced spacing 1.3\n";
  std::string plot;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    program += fmt::format("$d{} << EOD\n", i);
    for (const auto& [x, y] : series.points) program += fmt::format("{} {}\n", x, y);
    program += "EOD\n";
    plot += fmt::format("{} $d{} with linespoints lw 2 pt 7 lc rgb '{}' title '{}'", i == 0 ? "plot" : ",", i, color(i),
                        series.name);
  }
  return program + plot + "\n";
}

std::string timeline_plot(const Json& trace, const std::string& title, const std::string& file) {
  const Rows rows = rows_of(trace);
  std::string program = terminal(file, 1000, 160 + 60 * static_cast<int>(rows.names.size()));
  program += fmt::format("set title '{}'\nset xlabel 'time (ms)'\nset yrange [{}:-0.6]\nset xrange [0:*]\n", title,
                         static_cast<double>(rows.names.size()) - 0.4);
  program += "set key outside right center Left reverse noenhanced spacing 1.3\nset ytics (";
  for (std::size_t row = 0; row < rows.names.size(); ++row) {
    program += fmt::format("{}'{}' {}", row == 0 ? "" : ", ", rows.names[row], row);
  }
  program += ")\n";
  std::string plot;
  add_boxes(rows.waits, "waiting", "#dddddd", 0.4, program, plot);
  add_operations(rows, program, plot);
  if (!rows.ticks.empty()) {
    program += fmt::format("$ticks << EOD\n{}EOD\n", rows.ticks);
    plot += fmt::format("{} $ticks using 2:($1-0.4):(0):(0.8) with vectors nohead lc rgb '#000000' title 'queued'",
                        plot.empty() ? "plot" : ",");
  }
  return plot.empty() ? "" : program + plot + "\n";
}

}  // namespace support
