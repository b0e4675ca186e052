#include "examples/support/experiment.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/random.h"
#include "examples/support/checks.h"
#include "examples/support/parse.h"
#include "examples/support/plot.h"
#include "examples/support/process.h"
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
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the parent is killed, nobody wants the result
  set_up(run);
  Recorder recorder(run);
  train(run, recorder);
  write_all(result_file, recorder.result().dump());
}

// Barriers change nothing without values: the first run stands for all.
void dry_run(Run run, TrainFunction train) {
  run.schedule = ag::Schedule::dry_run;
  set_up(run);
  Recorder recorder(run);
  train(run, recorder);
  fmt::print("{}\n", ag::dry_run_report(run.device).str());
}

// --- The process that starts the others. ---

std::string heading(const Run& run, int repetition, const Options& options) {
  return options.repeat.value_or(1) == 1
             ? run.name
             : fmt::format("{} (repetition {} of {})", run.name, repetition, *options.repeat);
}

// The run's result, or null if it failed.
Json result_of(const Run& run, const std::vector<std::string>& arguments) {
  Command command{.arguments = arguments, .captured = result_file};
  command.arguments.insert(command.arguments.end(), {measured_run_option, run.name});
  const Outcome outcome = run_process(command);
  const Json result = Json::parse(outcome.output, nullptr, false);
  if (outcome.good() && result.is_object()) return result;
  fmt::print(stderr, "run {} failed: its process {}\n", run.name, outcome.what());
  return nullptr;
}

// All results in order; those of failed runs are missing.
Json measure_all(const Options& options, const std::vector<std::string>& arguments) {
  Json results = Json::array();
  for (int repetition = 1; repetition <= options.repeat.value_or(1); ++repetition) {
    for (const Run& run : options.runs) {
      fmt::print("{}\n", heading(run, repetition, options));
      std::fflush(stdout);
      Json result = result_of(run, arguments);
      if (result.is_null()) continue;
      if (options.repeat) result["repetition"] = repetition;
      results.push_back(std::move(result));
    }
  }
  return results;
}

void check_files(const Options& options) {
  if (options.default_files) {
    std::error_code ignored;  // what cannot be made cannot be written, which is said next
    std::filesystem::create_directories("results", ignored);
  }
  check_writable("--json", options.json);
  if (const std::string& trace = options.runs.front().trace; !trace.empty()) check_writable("--trace", trace);
  check_writable("--plot", options.plot);
}

// A run a line: small enough to look through, and every JSON reader takes it.
bool write_data(const Json& results, const std::string& file) {
  std::ofstream data(file);
  data << "{\"format\": 1,\n\"machine\": " << machine().dump() << ",\n\"runs\": [";
  const char* separator = "\n";
  for (const Json& result : results) {
    data << separator << result.dump();
    separator = ",\n";
  }
  data << "\n]}\n";
  data.close();
  return data.good();
}

// Returns the exit status.
int report(const Json& results, const Options& options) {
  const std::size_t wanted = options.runs.size() * static_cast<std::size_t>(options.repeat.value_or(1));
  int status = results.size() == wanted ? 0 : 1;
  if (!results.empty()) fmt::print("\n{}\n{}\n", table(results), sentences(results));
  const std::string obstacle = draw_memory(results, options.plot);
  if (obstacle.empty()) {
    fmt::print("picture: {}\n", options.plot);
  } else {
    fmt::print(stderr, "no picture: {}\n", obstacle);
  }
  if (write_data(results, options.json)) {
    fmt::print("data: {}\n", options.json);
  } else {
    fmt::print(stderr, "{} could not be written\n", options.json);
    status = 1;
  }
  return status;
}

int compare(const Options& options, int argc, char** argv) {
  check_files(options);
  std::vector<std::string> arguments{"/proc/self/exe"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  return report(measure_all(options, arguments), options);
}

int run(const std::string& program, int argc, char** argv, TrainFunction train) {
  const Options options = parse_options(program, argc, argv);
  if (!options.help.empty()) {
    fmt::print("{}", options.help);
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

int compare_runs(int argc, char** argv, TrainFunction train) {
  const std::string program = std::filesystem::path(argv[0]).filename();
  try {
    return run(program, argc, argv, train);
  } catch (const BadInput& error) {
    fmt::print(stderr, "{}: {}\nSee {} --help.\n", program, error.what(), program);
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 1;
  }
}

}  // namespace support
