#include "asyncgrad/experiment/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/experiment/process.h"

namespace asyncgrad::experiment {

namespace {

constexpr double mebibyte = 1024 * 1024;
constexpr int max_points = 250;
constexpr int few_batches = 40;
constexpr std::array colors{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#000000", "#d55e00"};

// A point stands for two batches, so that each point shows a peak: otherwise the memory that every batch takes and
// gives back would be a blur. With few batches that rise and fall is what a reader wants to see.
int points_of(const Measurement& run) {
  const auto batches = static_cast<int>(run.batches - run.resumed_after.value_or(0));
  return batches < few_batches ? max_points : std::min(batches / 2, max_points);
}

// The data of a line: the largest value of each interval.
std::string data_of(const Measurement& run) {
  const double width_s = run.total_s / points_of(run);
  std::map<int, double> peaks;
  for (const auto& [elapsed_s, live_bytes] : run.live_bytes_timeline) {
    double& peak = peaks[width_s > 0 ? static_cast<int>(elapsed_s / width_s) : 0];
    peak = std::max(peak, static_cast<double>(live_bytes));
  }
  std::string data;
  for (const auto& [interval, peak] : peaks)
    data += fmt::format("{:.6f} {:.4f}\n", interval * width_s, peak / mebibyte);
  return data;
}

std::vector<const Measurement*> lines_of(const Measurements& runs) {
  std::vector<const Measurement*> lines;
  for (const std::string& name : names_of(runs)) {
    const auto first = std::ranges::find(runs, name, &Measurement::name);
    if (!first->live_bytes_timeline.empty()) lines.push_back(&*first);
  }
  return lines;
}

// Quotes a text as gnuplot reads it between single quotation marks.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : c == '\n' ? " " : std::string(1, c);
  return quoted + "'";
}

std::string title_of(const Measurement& run) {
  std::string title = fmt::format("Live memory while training {} batches", run.batches - run.resumed_after.value_or(0));
  const char* separator = ": ";
  for (const auto& [name, value] : run.options) {
    title += fmt::format("{}{} {}", separator, name, text_of(value));
    separator = "; ";
  }
  return title;
}

// As gnuplot reads a text of several lines, each of which fits into the picture where its words are not too long.
std::string in_lines(const std::string& text) {
  constexpr std::size_t line_size = 90;
  std::string lines, line;
  for (const std::string& word : split(text, ' ')) {
    if (!line.empty() && line.size() + word.size() >= line_size) {
      lines += quoted(line) + ".\"\\n\".";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + quoted(line);
}

}  // namespace

std::string terminal(const std::string& file, int width, int height) {
  const bool png = file.ends_with(".png");
  return fmt::format(
      "set terminal {} size {},{} font {}\nset grid lt 1 lc '#dddddd'\nset border 3\nset tics nomirror\n",
      png ? "pngcairo" : "svg", width, height, png ? "'sans,13'" : "'sans,15' background '#ffffff'");
}

const char* color(std::size_t index) { return colors[index % colors.size()]; }

std::string draw(const std::string& program, const std::string& file) {
  const Outcome outcome = run_process({.arguments = {"gnuplot", "-d"}, .input = program});  // -d: no settings of a user
  if (!outcome.started) return "gnuplot could not be started; is it installed?";
  if (!outcome.good()) return "gnuplot " + outcome.what();
  detail::replace_file("experiment", file, outcome.output);
  return "";
}

bool report_picture(const std::string& obstacle, const std::string& file) {
  if (obstacle.empty()) {
    print("picture: {}\n", file);
  } else {
    print_error("no picture: {}\n", obstacle);
  }
  return obstacle.empty();
}

std::string memory_plot(const Measurements& runs, const std::string& file) {
  const std::vector<const Measurement*> lines = lines_of(runs);
  if (lines.empty()) return "";
  std::string program = terminal(file, 1000, 600);
  program += fmt::format("set title {} noenhanced\n", in_lines(title_of(*lines.front())));
  program +=
      "set xlabel 'time since the first batch (s)'\nset ylabel 'live memory (MiB)'\n"
      "set yrange [0:*]\nset key outside right center Left reverse noenhanced spacing 1.3\n";
  double longest_s = 0;
  for (const Measurement* line : lines) longest_s = std::max(longest_s, line->total_s);
  program += fmt::format("set xrange [0:{:.6f}]\n", longest_s);
  std::string plot;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    program += fmt::format("$run{} << EOD\n{}EOD\n", i, data_of(*lines[i]));
    const double width =
        2 + 0.9 * static_cast<double>(lines.size() - 1 - i);  // a line below an equal one stays visible
    plot += fmt::format("{}$run{} using 1:2 with steps lw {:.1f} lc '{}' title '{}'", i == 0 ? "plot " : ", ", i, width,
                        color(i), lines[i]->name);
  }
  return program + plot + "\n";
}

std::string draw_memory(const Measurements& runs, const std::string& file) {
  const std::string program = memory_plot(runs, file);
  if (program.empty()) return "no change of live memory was recorded";
  return draw(program, file);
}

}  // namespace asyncgrad::experiment
