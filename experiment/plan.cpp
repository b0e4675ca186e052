#include "asyncgrad/experiment/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/experiment/checks.h"
#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/own_options.h"
#include "asyncgrad/experiment/parse.h"

namespace asyncgrad::experiment {

namespace {

// The options as they were typed.
struct Arguments {
  using Text = std::optional<std::string>;
  Text runs, barrier, schedule, memory_budget, batches, seed, workers, device, math, repeat, json, plot, trace,
      checkpoint, checkpoint_every, stop_after, resume, measured_run;
  bool recompute = false, explain = false, dry_run = false;
};

// The options that define a run.
void declare_kinds(CommandLine& line, Arguments& to) {
  line.option("--runs", "LIST", to.runs,
              fmt::format("The runs to compare, by name: immediate or "
                          "BARRIER[:BUDGET[:recompute]|:unbounded|:first_ready]. Default: {}",
                          default_runs));
  line.option("--barrier", "BARRIER", to.barrier,
              "Do one run instead of the list, with this barrier: batch, none (default) or in-flight:K");
  line.option("--schedule", "SCHEDULE", to.schedule,
              "Do one run instead, with this schedule: oldest_first (default), first_ready or immediate");
  line.option("--memory-budget", "BUDGET", to.memory_budget,
              "Do one run instead, with this memory budget: a number of bytes (1000000, 64MiB), a percentage of the "
              "serial peak (50%), automatic (default) or unbounded");
  line.flag("--recompute", to.recompute,
            "Drop values and compute them again to keep within that budget, a number of bytes or a percentage");
}

// The options that all runs share, besides the program's own.
void declare_settings(CommandLine& line, Arguments& to, const Settings& defaults) {
  line.option("--seed", "N", to.seed, fmt::format("Seed of data and weights. Default: {}", defaults.seed));
  line.option("--workers", "N", to.workers, "Number of threads that compute. Default: one for each core");
  line.option("--device", "DEVICE", to.device,
              fmt::format("The device that computes. Default: {}", defaults.device.str()));
  line.option("--math", "MODE", to.math,
              "Products read their operands as float32 (default), or rounded to bf16, or on a GPU to tf32");
}

void declare_reports(CommandLine& line, Arguments& to, const std::string& program) {
  line.option("--repeat", "N", to.repeat, "Go through the runs N times and report medians. Default: 1");
  line.option("--json", "FILE", to.json,
              fmt::format("Write the results to this file, as JSON. Default: results/{}.json", program));
  line.option("--plot", "FILE", to.plot,
              fmt::format("Draw the picture in this file, svg or png. Default: results/{}.svg", program));
  line.option("--trace", "FILE", to.trace,
              "Record every operation of the run in this file, for https://ui.perfetto.dev");
  line.flag("--explain", to.explain, "Print how the time of each run divides among the operations");
  line.flag("--dry-run", to.dry_run,
            "Train with shapes only, and print how much memory a run would take and which operation takes the most");
  line.option(measured_run_option, "", to.measured_run, "");
}

void declare_checkpoints(CommandLine& line, Arguments& to) {
  line.option("--checkpoint", "FILE", to.checkpoint, "Keep the training of the run in this file after its last batch");
  line.option("--checkpoint-every", "N", to.checkpoint_every,
              "Keep it there after every N batches, too, while the training goes on");
  line.option("--stop-after", "N", to.stop_after,
              "End the run after N of its batches, for a process that goes on from the checkpoint");
  line.option("--resume", "FILE", to.resume,
              "Go on from the training in this file, with the same options; --batches counts from its beginning");
}

std::vector<RunKind> runs_of(const Arguments& arguments) {
  const bool own = arguments.barrier || arguments.schedule || arguments.memory_budget || arguments.recompute;
  if (own && arguments.runs) {
    throw BadInput(
        "--runs cannot be combined with --barrier, --schedule, --memory-budget or --recompute, which describe one run "
        "instead of the list");
  }
  if (own) {
    return {own_run(arguments.barrier, arguments.schedule, arguments.memory_budget, arguments.recompute)};
  }
  std::vector<RunKind> runs;
  for (const std::string& name : split(arguments.runs.value_or(default_runs), ',')) {
    const RunKind run = parse_run("--runs", name);
    const auto is_same = [&](const RunKind& other) { return other.name == run.name; };
    if (std::any_of(runs.begin(), runs.end(), is_same)) {
      throw BadInput(fmt::format("--runs: '{}' is there twice; --repeat does all runs several times", run.name));
    }
    runs.push_back(run);
  }
  return runs;
}

void apply(const Arguments& given, Settings& settings) {
  if (given.batches) settings.batches = static_cast<int>(parse_whole("--batches", *given.batches, 1, max_batches));
  if (given.seed) settings.seed = parse_seed("--seed", *given.seed);
  if (given.workers) settings.workers = static_cast<int>(parse_whole("--workers", *given.workers, 1, max_workers));
  settings.device = use_device(given.device.value_or(settings.device.str()));
  if (given.math) settings.math = parse_math_mode(*given.math);
  set_math_mode(settings.math);
}

// Which options go together: some files hold one run, or are for one.
void check_combinations(const Arguments& given, const Plan& plan) {
  const bool is_one = plan.runs.size() * static_cast<std::size_t>(plan.repeat.value_or(1)) == 1;
  const auto check = [&](const char* option, const Arguments::Text& file, const char* what) {
    if (file && file->empty()) reject(option, *file, "the name of a file");
    if (file && !is_one) throw BadInput(fmt::format("{}: '{}' {}: name it, as in --runs none", option, *file, what));
  };
  check("--trace", given.trace, "can hold one run");
  check("--checkpoint", given.checkpoint, "can hold one run");
  check("--resume", given.resume, "is for one run");
  if (plan.dry_run && (given.checkpoint || given.resume)) {
    throw BadInput(
        "--dry-run cannot be combined with --checkpoint or --resume: it has no values that a file could keep");
  }
  if (plan.dry_run && (given.trace || given.explain || given.json || given.plot)) {
    throw BadInput("--dry-run cannot be combined with --trace, --explain, --json or --plot: it measures no time");
  }
  for (const auto& [option, number] :
       {std::pair("--checkpoint-every", &given.checkpoint_every), std::pair("--stop-after", &given.stop_after)}) {
    if (*number && !given.checkpoint) throw BadInput(fmt::format("{} needs a file: give --checkpoint", option));
  }
}

void set_checkpoints(const Arguments& given, Run& run) {
  run.checkpoint = given.checkpoint.value_or("");
  run.resume = given.resume.value_or("");
  if (given.checkpoint_every) {
    run.checkpoint_every = static_cast<int>(parse_whole("--checkpoint-every", *given.checkpoint_every, 1, max_batches));
  }
  if (given.stop_after) {
    run.stop_after = static_cast<int>(parse_whole("--stop-after", *given.stop_after, 1, run.batches));
  }
}

Plan plan_of(const Arguments& given, const std::string& program, const Run& shared) {
  Plan plan;
  for (const RunKind& kind : runs_of(given)) {
    plan.runs.push_back(shared);
    static_cast<RunKind&>(plan.runs.back()) = kind;
  }
  if (given.repeat) plan.repeat = static_cast<int>(parse_whole("--repeat", *given.repeat, 1, max_repeat));
  plan.dry_run = given.dry_run;
  check_combinations(given, plan);
  plan.json = given.json.value_or(fmt::format("results/{}.json", program));
  plan.plot = given.plot.value_or(fmt::format("results/{}.svg", program));
  check_picture("--plot", plan.plot);
  // A training may go on in the file from which it came.
  for (const NamedFile& kept : {NamedFile{"--checkpoint", shared.checkpoint}, NamedFile{"--resume", shared.resume}}) {
    check_distinct({{"--json", plan.json}, {"--plot", plan.plot}, {"--trace", shared.trace}, kept});
  }
  plan.default_files = !given.json || !given.plot;
  plan.measured_run = given.measured_run.value_or("");
  return plan;
}

}  // namespace

Plan parse_plan(const std::string& program, int argc, const char* const* argv, Settings& settings, const Options& own) {
  CommandLine line(program, "Trains a network asynchronously in several ways and compares time and memory.");
  Arguments given;
  declare_kinds(line, given);
  line.option("--batches", "N", given.batches,
              fmt::format("Number of batches in a run. Default: {}", settings.batches));
  OwnOptions own_options(line, own);
  declare_settings(line, given, settings);
  declare_checkpoints(line, given);
  declare_reports(line, given, program);
  if (std::string help = line.parse(argc, argv); !help.empty()) return {.help = std::move(help)};
  apply(given, settings);
  own_options.apply();
  Run shared;
  static_cast<Settings&>(shared) = settings;
  shared.own = own_options.values();
  shared.trace = given.trace.value_or("");
  shared.explain = given.explain;
  set_checkpoints(given, shared);
  return plan_of(given, program, shared);
}

}  // namespace asyncgrad::experiment
