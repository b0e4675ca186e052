#include "examples/support/experiment.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/random.h"
#include "examples/support/checks.h"
#include "examples/support/file.h"
#include "examples/support/output_file.h"
#include "examples/support/parse.h"
#include "examples/support/plot.h"
#include "examples/support/print.h"
#include "examples/support/process.h"
#include "examples/support/run_main.h"
#include "examples/support/summary.h"

namespace support {

namespace ag = asyncgrad;

namespace {

constexpr int result_file = 3;  // where a run's process writes its result

// --- The process of one run. ---

const Run& named(const std::vector<Run>& runs, const std::string& name) {
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& candidate) { return candidate.name == name; });
  if (run == runs.end()) reject(measured_run_option, name, "one of the runs");
  return *run;
}

void set_up(const Run& run) {
  ag::EngineOptions options = ag::engine_options();
  if (run.workers > 0) options.workers = run.workers;
  options.schedule = run.schedule;
  options.memory_budget = run.budget;
  ag::set_engine_options(options);
  ag::manual_seed(run.seed);
}

void measure(const Run& run, TrainFunction train) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // without the parent, nobody reads the result
  set_up(run);
  Recorder recorder(run);
  const auto deliver = [&] {
    if (!recorder.result().is_null()) write_all(result_file, text_of(recorder.result()));
  };
  try {
    train(run, recorder);
  } catch (...) {
    deliver();
    throw;
  }
  deliver();
}

// Without values barriers change nothing, so the first run stands for all.
void dry_run(Run run, TrainFunction train) {
  run.schedule = ag::Schedule::dry_run;
  set_up(run);
  Recorder recorder(run);
  train(run, recorder);
  print("{}\n", ag::dry_run_report(run.device).str());
}

// --- The process that starts the others. ---

std::string heading(const Run& run, int repetition, const Options& options) {
  return options.repeat.value_or(1) == 1
             ? run.name
             : fmt::format("{} (repetition {} of {})", run.name, repetition, *options.repeat);
}

// The runs that were measured, in order.
struct Measured {
  Json runs = Json::array();
  bool all_good = true;
};

// Measures a run in its own process. A complete result counts even if the process failed after it was measured, for
// example because its trace could not be written.
void add_result(const Run& run, int repetition, const Options& options, const std::vector<std::string>& arguments,
                Measured& measured) {
  Command command{.arguments = arguments, .file = "/proc/self/exe", .captured = result_file};
  command.arguments.insert(command.arguments.begin() + 1, {measured_run_option, run.name});
  const Outcome outcome = run_process(command);
  Json result = Json::parse(outcome.output, nullptr, false);
  const bool is_complete = result.is_object();
  if (!outcome.good() || !is_complete) {
    complain("run {} failed{}: its process {}\n", run.name, is_complete ? " after it was measured" : "",
             outcome.what());
    measured.all_good = false;
  }
  if (!is_complete) return;
  if (options.repeat) result["repetition"] = repetition;
  measured.runs.push_back(std::move(result));
}

Measured measure_all(const Options& options, const std::vector<std::string>& arguments) {
  Measured measured;
  for (int repetition = 1; repetition <= options.repeat.value_or(1); ++repetition) {
    for (const Run& run : options.runs) {
      print("{}\n", heading(run, repetition, options));
      add_result(run, repetition, options, arguments, measured);
    }
  }
  return measured;
}

void check_files(const Options& options) {
  if (options.default_files) {
    std::error_code ignored;  // a folder that cannot be made is reported by the next check
    std::filesystem::create_directories("results", ignored);
  }
  check_writable({"--json", options.json});
  if (const std::string& trace = options.runs.front().trace; !trace.empty()) check_writable({"--trace", trace});
  check_writable({"--plot", options.plot});
}

// Each run has a line of its own, so that the file is easy to look through.
std::string data_of(const Json& runs) {
  std::string text = fmt::format("{{\"format\": 1,\n\"machine\": {},\n\"runs\": [", text_of(machine()));
  const char* separator = "\n";
  for (const Json& run : runs) {
    text += separator + text_of(run);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

void write_data(const Json& runs, const std::string& file) {
  replace_file(file, data_of(runs));
  print("data: {}\n", file);
}

void draw_picture(const Json& runs, const std::string& file) {
  const std::string obstacle = draw_memory(runs, file);
  if (obstacle.empty()) {
    print("picture: {}\n", file);
  } else {
    complain("no picture: {}\n", obstacle);
  }
}

// Writes a file. Returns whether it could be written, and says why if not.
bool save(void (*write)(const Json& runs, const std::string& file), const Json& runs, const std::string& file) {
  try {
    write(runs, file);
    return true;
  } catch (const FileError& error) {
    complain("{}\n", error.what());
    return false;
  }
}

// Returns the exit status.
int report(const Measured& measured, const Options& options) {
  if (measured.runs.empty()) {
    complain("No run was measured, so '{}' and '{}' stay as they were.\n", options.json, options.plot);
    return 1;
  }
  print("\n{}\n{}\n", table(measured.runs), sentences(measured.runs));
  const bool has_data = save(write_data, measured.runs, options.json);
  const bool has_picture = save(draw_picture, measured.runs, options.plot);
  return measured.all_good && has_data && has_picture ? 0 : 1;
}

int compare(const Options& options, int argc, char** argv) {
  check_files(options);
  return report(measure_all(options, {argv, argv + argc}), options);
}

int run(const std::string& program, int argc, char** argv, TrainFunction train, const Settings& defaults) {
  const Options options = parse_options(program, argc, argv, defaults);
  if (!options.help.empty()) {
    print("{}", options.help);
  } else if (!options.measured_run.empty()) {
    measure(named(options.runs, options.measured_run), train);
  } else if (options.dry_run) {
    dry_run(options.runs.front(), train);
  } else {
    return compare(options, argc, argv);
  }
  return 0;
}

}  // namespace

int compare_runs(int argc, char** argv, TrainFunction train, const Settings& defaults) {
  return run_main(argc, argv, [&](const std::string& program) { return run(program, argc, argv, train, defaults); });
}

}  // namespace support
