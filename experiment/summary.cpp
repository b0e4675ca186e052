#include "asyncgrad/experiment/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

namespace asyncgrad::experiment {

namespace {

std::string count_text(double count) { return fmt::format("{:.0f}", count); }

constexpr Figure total = figure_of<&Measurement::total_s>, frontend = figure_of<&Measurement::frontend_s>,
                 peak_live = figure_of<&Measurement::peak_live_bytes>,
                 serial_peak = figure_of<&Measurement::serial_peak_bytes>;

struct Column {
  const char* heading;
  Figure figure;
  std::string (*text)(double);
};
constexpr std::array<Column, 5> columns{
    {{"time per epoch", total, seconds_text},
     {"queued in", frontend, seconds_text},
     {"peak live", peak_live, bytes_text},
     {"growth of RSS", figure_of<&Measurement::peak_rss_growth_bytes>, bytes_text},
     {"most operations queued", figure_of<&Measurement::peak_queued_operations>, count_text}}};

using Optional = std::optional<double>;

// Compares `name` with `other`: "2.10 times the memory and 0.99 times the time".
std::string compared(const Measurements& runs, const std::string& name, const std::string& other) {
  const Optional memory = ratio(runs, name, other, peak_live), time = ratio(runs, name, other, total);
  std::string text;
  if (memory) text = fmt::format("{:.2f} times the memory", *memory);
  if (time) text += fmt::format("{}{:.2f} times the time", memory ? " and " : "", *time);
  return text;
}

// Says how long the front end was busy, and how the run compares with a full barrier.
std::string about_queueing(const Measurements& runs, const std::string& name) {
  const std::string subject = name == "none" ? "Without barriers the loop" : fmt::format("The loop of {}", name);
  std::string text = fmt::format("{} was queued in {} of {}", subject, seconds_text(*median_of(runs, name, frontend)),
                                 seconds_text(*median_of(runs, name, total)));
  if (const Optional queued = share(runs, name, frontend, total)) {
    text += fmt::format(" ({:.2f} %)", 100 * *queued);
  }
  const bool full_barrier = has(runs, "in-flight:1") && name != "in-flight:1";
  const std::string against = full_barrier ? compared(runs, name, "in-flight:1") : "";
  if (!against.empty())
    return text + fmt::format("; it took {} of in-flight:1, a full barrier for every batch.", against);
  if (const Optional peak = share(runs, name, peak_live, serial_peak)) {
    text += fmt::format("; its live memory peaked at {}, {:.2f} times what the program needs in its own order",
                        bytes_text(*median_of(runs, name, peak_live)), *peak);
  }
  return text + ".";
}

// Says how much the same loop takes without a bound on its memory.
std::string about_budget(const Measurements& runs) {
  std::string text;
  for (const std::string name : {"none:unbounded", "none:first_ready"}) {
    const std::string against = compared(runs, name, "none");
    if (against.empty()) continue;
    const char* how = name == "none:unbounded" ? "without a memory budget" : "running first what was ready first";
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", and ", against, how, name);
  }
  return text.empty() ? "" : fmt::format("Compared with none, the loop took {}.", text);
}

std::string about_results(const Measurements& runs) {
  std::set<std::string> hashes;
  for (const Measurement& run : runs) hashes.insert(run.parameters_hash);
  if (runs.size() < 2) return "";
  if (hashes.size() == 1) return fmt::format("All {} runs ended with the same parameters, bit for bit.", runs.size());
  return fmt::format("The {} runs ended with {} different sets of parameters.", runs.size(), hashes.size());
}

}  // namespace

std::string table(const Measurements& runs) {
  const std::vector<std::string> names = names_of(runs);
  std::size_t name_width = 3;
  for (const std::string& name : names) name_width = std::max(name_width, name.size());
  std::string text = fmt::format("{:<{}}", "run", name_width);
  for (const Column& column : columns) text += fmt::format("  {:>14}", column.heading);
  for (const std::string& name : names) {
    text += fmt::format("\n{:<{}}", name, name_width);
    for (const Column& column : columns) {
      const std::size_t width = std::max<std::size_t>(14, std::string_view(column.heading).size());
      const std::optional<double> value = median_of(runs, name, column.figure);
      text += fmt::format("  {:>{}}", value ? column.text(*value) : "", width);
    }
  }
  return text + "\n";
}

std::string sentences(const Measurements& runs) {
  if (runs.empty()) return "";
  const std::string lead = has(runs, "none") ? "none" : names_of(runs).back();
  std::string text;
  for (const std::string& sentence : {about_queueing(runs, lead), about_budget(runs), about_results(runs)}) {
    if (!sentence.empty()) text += sentence + "\n";
  }
  return text;
}

}  // namespace asyncgrad::experiment
