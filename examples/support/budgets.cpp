#include "examples/support/budgets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/experiment/checks.h"
#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/json.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/plot.h"
#include "asyncgrad/experiment/recorder.h"
#include "asyncgrad/experiment/results.h"
#include "asyncgrad/experiment/run_main.h"
#include "examples/support/picture.h"
#include "examples/support/print.h"

namespace budgets {

namespace ag = asyncgrad;
namespace experiment = asyncgrad::experiment;

namespace {

// --- The options.

struct Options {
  std::vector<const Network*> networks{};
  std::vector<double> shares{1, 0.67, 0.5, 0.33};
  std::optional<std::int64_t> batch_size{};
  int steps = 2, repeat = 3;
  std::uint64_t seed = 0;
  std::string json{}, plot{}, help{};
};

const Network& named(const std::vector<Network>& networks, const std::string& name) {
  const auto network = std::ranges::find(networks, name, &Network::name);
  if (network != networks.end()) return *network;
  std::vector<std::string> names;
  for (const Network& each : networks) names.push_back(each.name);
  experiment::reject("--network", name, fmt::format("one of {}", fmt::join(names, ", ")));
}

Options parse(const std::string& program, int argc, const char* const* argv, const std::vector<Network>& networks) {
  std::optional<std::string> names, budgets, batch_size, steps, repeat, seed, json, plot;
  experiment::CommandLine line(program, "Trains networks within budgets below their serial peak, and compares times.");
  Options options;
  std::string defaults;
  for (const Network& network : networks) {
    defaults += fmt::format("{}{} ({})", defaults.empty() ? "" : ", ", network.name, network.batch_size);
  }
  line.option("--network", "LIST", names,
              fmt::format("Networks, each with its batch size: {}. Default: the first", defaults));
  line.option("--budgets", "LIST", budgets, "Percentages of the serial peak. Default: 100%,67%,50%,33%");
  line.option("--batch-size", "N", batch_size, "Samples in a batch of each network");
  line.option("--steps", "N", steps, fmt::format("Steps that are timed. Default: {}", options.steps));
  line.option("--repeat", "N", repeat,
              fmt::format("Go through the budgets N times and report medians. Default: {}", options.repeat));
  line.option("--seed", "N", seed, fmt::format("Seed of data and weights. Default: {}", options.seed));
  line.option("--json", "FILE", json, "Write the results to this file, as JSON");
  line.option("--plot", "FILE", plot, "Draw the picture in this file, svg or png");
  options.help = line.parse(argc, argv);
  for (const std::string& name : experiment::split(names.value_or(networks.front().name), ',')) {
    options.networks.push_back(&named(networks, name));
  }
  if (budgets) {
    options.shares.clear();
    for (const std::string& budget : experiment::split(*budgets, ',')) {
      options.shares.push_back(experiment::parse_percent("--budgets", budget));
    }
  }
  if (batch_size) options.batch_size = experiment::parse_whole("--batch-size", *batch_size, 1, 1 << 20);
  if (steps) options.steps = static_cast<int>(experiment::parse_whole("--steps", *steps, 1, 1'000'000));
  if (repeat) options.repeat = static_cast<int>(experiment::parse_whole("--repeat", *repeat, 1, 1'000'000));
  if (seed) options.seed = experiment::parse_seed("--seed", *seed);
  options.json = json.value_or("");
  options.plot = plot.value_or("");
  if (!options.plot.empty()) experiment::check_picture("--plot", options.plot);
  experiment::check_distinct({{"--json", options.json}, {"--plot", options.plot}});
  if (!options.json.empty()) experiment::check_writable({"--json", options.json});
  if (!options.plot.empty()) experiment::check_writable({"--plot", options.plot});
  return options;
}

// --- Measuring.

struct Run {
  std::string network{};
  ag::MemoryPrice price{};
  std::vector<double> time_ratios{};  // over the run without a budget in the same round
  std::int64_t recompute_peak_bytes = 0, peak_live_bytes = 0, recomputed_operations = 0;
  double added_work = 0;
  std::string parameters_hash{};
};

// Trains from the beginning, and returns the seconds of the steps that are timed. The second step is counted.
double train(const Network& network, const Options& options, const ag::EngineOptions& engine, Run* run) {
  ag::set_engine_options(engine);
  ag::manual_seed(options.seed);
  const Training training = network.make(options.batch_size.value_or(network.batch_size));
  ag::wait_all();
  ag::reset_peaks();
  training.step();
  const ag::EngineFigures first = ag::engine_figures();
  training.step();
  const ag::EngineFigures second = ag::engine_figures().since(first);
  ag::wait_all();
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < options.steps; ++step) training.step();
  ag::wait_all();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (run == nullptr) return seconds;
  run->recomputed_operations = second.recomputed_operations;
  run->added_work = second.added_work();
  run->recompute_peak_bytes = ag::memory_figures().serial_peak_bytes;
  run->peak_live_bytes = ag::memory_figures().peak_live_bytes;
  run->parameters_hash = experiment::parameters_hash(training.parameters);
  return seconds;
}

std::vector<Run> measure(const Network& network, const Options& options) {
  std::vector<Run> runs;
  {
    const Training training = network.make(options.batch_size.value_or(network.batch_size));
    for (const ag::MemoryPrice& price : ag::memory_prices(training.step, options.shares)) {
      runs.push_back({.network = network.name, .price = price});
    }
  }
  for (int round = 0; round < options.repeat; ++round) {
    const double without_s = train(network, options, {}, nullptr);
    for (Run& run : runs) {
      const ag::EngineOptions engine{.memory_budget = ag::MemoryBudget::bytes(run.price.budget_bytes),
                                     .recompute_to_fit = true};
      run.time_ratios.push_back(train(network, options, engine, &run) / without_s);
    }
  }
  ag::set_engine_options({});
  return runs;
}

// --- Reports.

void print_table(const std::vector<Run>& runs) {
  support::print("{:<14}{:>8}{:>14}{:>14}{:>14}{:>7}{:>8}{:>12}  parameters\n", "network", "budget", "bytes",
                 "serial peak", "peak live", "time", "again", "added work");
  for (const Run& run : runs) {
    support::print("{:<14}{:>6.0f} %{:>14}{:>14}{:>14}{:>7.2f}{:>8}{:>10.1f} %  {}\n", run.network,
                   100 * run.price.share, experiment::bytes_text(static_cast<double>(run.price.budget_bytes)),
                   experiment::bytes_text(static_cast<double>(run.recompute_peak_bytes)),
                   experiment::bytes_text(static_cast<double>(run.peak_live_bytes)),
                   experiment::median(run.time_ratios), run.recomputed_operations, 100 * run.added_work,
                   run.parameters_hash);
  }
}

std::string document_of(const std::vector<Run>& runs) {
  experiment::Json list = experiment::Json::array();
  for (const Run& run : runs) {
    list.push_back({{"network", run.network},
                    {"budget_share", run.price.share},
                    {"budget_bytes", run.price.budget_bytes},
                    {"serial_peak_bytes", run.price.serial_peak_bytes},
                    {"recompute_peak_bytes", run.recompute_peak_bytes},
                    {"peak_live_bytes", run.peak_live_bytes},
                    {"time_ratio", experiment::median(run.time_ratios)},
                    {"recomputed_operations", run.recomputed_operations},
                    {"predicted_recomputed_operations", run.price.recomputed_operations},
                    {"added_work", run.added_work},
                    {"parameters_hash", run.parameters_hash}});
  }
  return experiment::text_of({{"format", 1}, {"runs", list}}, 1) + "\n";
}

// A curve for each network. Budgets that are not kept are drawn where the serial peak is.
support::Chart chart_of(const std::vector<Run>& runs) {
  support::Chart chart{.title = "Time of a step within a budget below the serial peak",
                       .x_label = "memory in percent of the serial peak",
                       .y_label = "time over that without a budget",
                       .series = {}};
  for (const Run& run : runs) {
    if (chart.series.empty() || chart.series.back().name != run.network) chart.series.push_back({run.network, {}});
    const double percent = 100 * static_cast<double>(std::max(run.recompute_peak_bytes, run.price.budget_bytes)) /
                           static_cast<double>(run.price.serial_peak_bytes);
    chart.series.back().points.emplace_back(percent, experiment::median(run.time_ratios));
  }
  return chart;
}

int report(const std::vector<Run>& runs, const Options& options) {
  print_table(runs);
  if (!options.json.empty()) {
    ag::detail::replace_file("any_budget", options.json, document_of(runs));
    support::print("data: {}\n", options.json);
  }
  if (options.plot.empty()) return 0;
  const std::string obstacle = experiment::draw(support::chart_plot(chart_of(runs), options.plot), options.plot);
  return experiment::report_picture(obstacle, options.plot) ? 0 : 1;
}

}  // namespace

int compare(int argc, char** argv, const std::vector<Network>& networks) {
  return experiment::run_main(argc, argv, [&](const std::string& program) {
    const Options options = parse(program, argc, argv, networks);
    if (!options.help.empty()) {
      support::print("{}", options.help);
      return 0;
    }
    std::vector<Run> runs;
    for (const Network* network : options.networks) {
      for (Run& run : measure(*network, options)) runs.push_back(std::move(run));
    }
    return report(runs, options);
  });
}

}  // namespace budgets
