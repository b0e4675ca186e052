#include "examples/support/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <utility>

#include "examples/support/checks.h"
#include "examples/support/command_line.h"
#include "examples/support/parse.h"

namespace support {

namespace {

constexpr const char* default_runs = "immediate,batch,in-flight:1,in-flight:2,none,none:unbounded,none:first_ready";
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

// The options as they were typed.
struct Arguments {
  using Text = std::optional<std::string>;
  Text runs, barrier, schedule, memory_budget, batches, batch_size, hidden, lr, seed, workers, device, math, repeat,
      json, plot;
  std::string measured_run;
  Text trace;
  bool explain = false, dry_run = false;
};

void declare(CLI::App& app, Arguments& to, const std::string& program, const Settings& defaults) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--runs", to.runs,
                 fmt::format("The runs to compare, by name: immediate or BARRIER[:BYTES|:unbounded|"
                             ":first_ready]. Default: {}",
                             default_runs))
      ->type_name("LIST");
  app.add_option("--barrier", to.barrier,
                 "Do one run instead of the list, with this barrier: batch, none (default) or in-flight:K")
      ->type_name("BARRIER");
  app.add_option("--schedule", to.schedule,
                 "Do one run instead, with this schedule: oldest_first (default), first_ready or immediate")
      ->type_name("SCHEDULE");
  app.add_option(
         "--memory-budget", to.memory_budget,
         "Do one run instead, with this memory budget: a number of bytes (1000000, 64MiB), auto (default) or unbounded")
      ->type_name("BYTES");
  const auto number = [&](const char* option, Arguments::Text& text, const char* what, auto value) {
    return app.add_option(option, text, fmt::format("{}. Default: {}", what, value));
  };
  number("--batches", to.batches, "Number of batches in a run", defaults.batches)->type_name("N");
  number("--batch-size", to.batch_size, "Number of samples in a batch", defaults.batch_size)->type_name("N");
  if (!defaults.hidden.empty()) {
    number("--hidden", to.hidden, "Widths of the two hidden layers", fmt::format("{}", fmt::join(defaults.hidden, ",")))
        ->type_name("A,B");
  }
  number("--lr", to.lr, "Learning rate", defaults.lr)->type_name("X");
  app.add_option("--seed", to.seed, "Seed of data and weights. Default: 0")->type_name("N");
  app.add_option("--workers", to.workers, "Number of threads that compute. Default: one for each core")->type_name("N");
  app.add_option("--device", to.device, "The device that computes. Default: cpu")->type_name("DEVICE");
  app.add_option("--math", to.math, "Products read their operands as float32 (default) or rounded to bf16")
      ->type_name("MODE");
  app.add_option("--repeat", to.repeat, "Go through the runs N times and report medians. Default: 1")->type_name("N");
  app.add_option("--json", to.json,
                 fmt::format("Write the results to this file, as JSON. Default: results/{}.json", program))
      ->type_name("FILE");
  app.add_option("--plot", to.plot,
                 fmt::format("Draw the picture in this file, svg or png. Default: results/{}.svg", program))
      ->type_name("FILE");
  app.add_option("--trace", to.trace, "Record every operation of the run in this file, for https://ui.perfetto.dev")
      ->type_name("FILE");
  app.add_flag("--explain", to.explain, "Print how the time of each run divides among the operations");
  app.add_flag("--dry-run", to.dry_run,
               "Train with shapes only, and print how much memory a run would take and which operation takes the most");
  app.add_option(measured_run_option, to.measured_run)->group("");
}

std::vector<RunKind> runs_of(const Arguments& arguments) {
  const bool own = arguments.barrier || arguments.schedule || arguments.memory_budget;
  if (own && arguments.runs) {
    throw BadInput(
        "--runs cannot be combined with --barrier, --schedule or --memory-budget, which describe one run "
        "instead of the list");
  }
  if (own) return {own_run(arguments.barrier, arguments.schedule, arguments.memory_budget)};
  std::vector<RunKind> runs;
  for (const std::string& name : split(arguments.runs.value_or(default_runs), ',')) {
    runs.push_back(parse_run("--runs", name));
  }
  return runs;
}

std::vector<std::int64_t> hidden_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 2) reject("--hidden", text, "two widths, like 2048,512");
  std::vector<std::int64_t> widths;
  for (const std::string& part : parts) widths.push_back(parse_whole("--hidden", part, 1, most));
  return widths;
}

Settings settings_of(const Arguments& given, const Settings& defaults) {
  Settings settings = defaults;
  if (given.batches) settings.batches = static_cast<int>(parse_whole("--batches", *given.batches, 1, most));
  if (given.batch_size) settings.batch_size = parse_whole("--batch-size", *given.batch_size, 1, most);
  if (given.hidden) settings.hidden = hidden_of(*given.hidden);
  if (given.lr) settings.lr = parse_rate("--lr", *given.lr);
  if (given.seed) settings.seed = parse_seed("--seed", *given.seed);
  if (given.workers) settings.workers = static_cast<int>(parse_whole("--workers", *given.workers, 1, 1024));
  settings.trace = given.trace.value_or("");
  settings.explain = given.explain;
  settings.device = use_device(given.device.value_or("cpu"));
  settings.math = given.math.value_or("float32");
  use_math_mode(settings.math);
  return settings;
}

Options interpret(const Arguments& given, const std::string& program, const Settings& defaults) {
  Options options;
  const std::vector<RunKind> kinds = runs_of(given);
  const Settings settings = settings_of(given, defaults);
  for (const RunKind& kind : kinds) options.runs.push_back({kind, settings});
  if (given.repeat) options.repeat = static_cast<int>(parse_whole("--repeat", *given.repeat, 1, 1'000'000));
  if (given.trace && kinds.size() * static_cast<std::size_t>(options.repeat.value_or(1)) != 1) {
    throw BadInput(fmt::format("--trace: '{}' can hold one run: name it, as in --runs none", *given.trace));
  }
  options.dry_run = given.dry_run;
  options.json = given.json.value_or(fmt::format("results/{}.json", program));
  options.plot = given.plot.value_or(fmt::format("results/{}.svg", program));
  check_picture("--plot", options.plot);
  check_distinct({{"--json", options.json}, {"--plot", options.plot}, {"--trace", given.trace.value_or("")}});
  options.default_files = !given.json || !given.plot;
  options.measured_run = given.measured_run;
  return options;
}

}  // namespace

Options parse_options(const std::string& program, int argc, const char* const* argv, const Settings& defaults) {
  CLI::App app("Trains a network asynchronously in several ways and compares time and memory.", program);
  Arguments arguments;
  declare(app, arguments, program, defaults);
  if (std::string help = parse_command_line(app, argc, argv); !help.empty()) return {.help = std::move(help)};
  return interpret(arguments, program, defaults);
}

}  // namespace support
