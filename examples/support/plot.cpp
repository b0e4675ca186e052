#include "examples/support/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "examples/support/output_file.h"
#include "examples/support/process.h"
#include "examples/support/results.h"

namespace support {

namespace {

constexpr double mebibyte = 1024 * 1024;
constexpr int most_points = 250;
constexpr int few_batches = 40;
constexpr std::array colors{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#000000", "#d55e00"};

// A point stands for two batches, so that each point shows a peak: otherwise the memory that every batch takes and
// gives back would be a blur. With few batches that rise and fall is what a reader wants to see.
int points_of(const Json& run) {
  const int batches = run.at("batches");
  return batches < few_batches ? most_points : std::min(batches / 2, most_points);
}

// The data of a line: the largest value of each interval.
std::string data_of(const Json& run) {
  const double width_s = run.at("total_s").get<double>() / points_of(run);
  std::map<int, double> peaks;
  for (const Json& sample : run.at("live_bytes_timeline")) {
    double& peak = peaks[width_s > 0 ? static_cast<int>(sample.at(0).get<double>() / width_s) : 0];
    peak = std::max(peak, sample.at(1).get<double>());
  }
  std::string data;
  for (const auto& [interval, peak] : peaks)
    data += fmt::format("{:.6f} {:.4f}\n", interval * width_s, peak / mebibyte);
  return data;
}

std::vector<const Json*> lines_of(const Json& runs) {
  std::vector<const Json*> lines;
  for (const std::string& name : names_of(runs)) {
    const auto first = std::find_if(runs.begin(), runs.end(), [&](const Json& run) { return run.at("name") == name; });
    if (!first->at("live_bytes_timeline").empty()) lines.push_back(&*first);
  }
  return lines;
}

std::string title_of(const Json& run) {
  const auto hidden = run.at("hidden").get<std::vector<std::int64_t>>();
  return fmt::format("Live memory while training {} batches of {}{}{}", run.at("batches").get<int>(),
                     run.at("batch_size").get<std::int64_t>(), hidden.empty() ? "" : ", hidden layers ",
                     fmt::join(hidden, " and "));
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
  replace_file(file, outcome.output);
  return "";
}

std::string memory_plot(const Json& runs, const std::string& file) {
  const std::vector<const Json*> lines = lines_of(runs);
  if (lines.empty()) return "";
  std::string program = terminal(file, 1000, 600);
  program += fmt::format("set title '{}'\n", title_of(*lines.front()));
  program +=
      "set xlabel 'time since the first batch (s)'\nset ylabel 'live memory (MiB)'\n"
      "set yrange [0:*]\nset key outside right center Left reverse noenhanced spacing 1.3\n";
  double longest_s = 0;
  for (const Json* line : lines) longest_s = std::max(longest_s, line->at("total_s").get<double>());
  program += fmt::format("set xrange [0:{:.6f}]\n", longest_s);
  std::string plot;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    program += fmt::format("$run{} << EOD\n{}EOD\n", i, data_of(*lines[i]));
    const double width =
        2 + 0.9 * static_cast<double>(lines.size() - 1 - i);  // a line below an equal one stays visible
    plot += fmt::format("{}$run{} using 1:2 with steps lw {:.1f} lc '{}' title '{}'", i == 0 ? "plot " : ", ", i, width,
                        color(i), lines[i]->at("name").get<std::string>());
  }
  return program + plot + "\n";
}

std::string draw_memory(const Json& runs, const std::string& file) {
  const std::string program = memory_plot(runs, file);
  if (program.empty()) return "no change of live memory was recorded";
  return draw(program, file);
}

}  // namespace support
