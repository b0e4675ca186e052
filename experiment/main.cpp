#include "asyncgrad/experiment/main.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/experiment/checks.h"
#include "asyncgrad/experiment/document.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/plan.h"
#include "asyncgrad/experiment/plot.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/experiment/process.h"
#include "asyncgrad/experiment/repeated_steps.h"
#include "asyncgrad/experiment/run_main.h"
#include "asyncgrad/experiment/summary.h"
#include "asyncgrad/experiment/train.h"
#include "asyncgrad/experiment/training_file.h"

namespace asyncgrad::experiment {

namespace {

using main_detail::Program;

constexpr int result_file = 3;  // where a run's process writes its result

// --- The process of one run. ---

const Run& named(const std::vector<Run>& runs, const std::string& name) {
  const auto run = std::ranges::find(runs, name, [](const Run& candidate) { return candidate.name; });
  if (run == runs.end()) reject(measured_run_option, name, "one of the runs");
  return *run;
}

void deliver(const Recorder& recorder) {
  if (!recorder.result()) return;
  const std::string line = line_of(*recorder.result());
  if (!detail::write_all(result_file, line.data(), line.size())) {
    throw std::system_error(errno, std::generic_category(), "write");
  }
}

// A training that is made for this alone, so that the one that is kept makes no step more than without a checkpoint.
void check_repetition(const main_detail::Training& training) {
  if (training.members == nullptr) return;  // TrainingFile says so
  warm_up(training);
  check_repeated_steps(training);
}

// Without the parent nobody reads the result. It may have ended before the system knew of the wish. The parent reads to
// the end of the file, which programs that the training starts must not hold open.
void end_with_reader() {
  fcntl(result_file, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd result{.fd = result_file, .events = 0, .revents = 0};
  if (poll(&result, 1, 0) > 0 && (result.revents & POLLERR) != 0) raise(SIGKILL);
}

void measure(const Run& named_run, const Program& program) {
  end_with_reader();
  const Run run = with_budget_in_bytes(named_run, program.make);
  set_up(run);
  if (!run.checkpoint.empty()) {
    check_repetition(program.make());
    set_up(run);  // the training begins with the seed
  }
  Recorder recorder(run);
  try {
    const main_detail::Training training = program.make();
    train(run, training, recorder);
    training.report();
  } catch (...) {
    deliver(recorder);
    throw;
  }
  deliver(recorder);
}

// Without values barriers make no difference, so the first run represents all runs.
void dry_run(Run run, const Program& program) {
  run = with_budget_in_bytes(std::move(run), program.make);
  run.schedule = Schedule::dry_run;
  set_up(run);
  Recorder recorder(run);
  train(run, program.make(), recorder);
  print("{}\n", dry_run_report(run.device).str());
}

// --- The process that starts the others. ---

std::string heading(const Run& run, int repetition, const Plan& plan) {
  return plan.repeat.value_or(1) == 1 ? run.name
                                      : fmt::format("{} (repetition {} of {})", run.name, repetition, *plan.repeat);
}

// The runs that were measured, in order.
struct Measured {
  Measurements runs{};
  bool all_good = true;
};

// Measures a run in its own process. A complete result counts even if the process failed after it was measured, for
// example because its trace could not be written.
void add_result(const Run& run, int repetition, const Plan& plan, const std::vector<std::string>& arguments,
                Measured& measured) {
  Command command{.arguments = arguments, .file = "/proc/self/exe", .captured = result_file};
  command.arguments.insert(command.arguments.begin() + 1, {measured_run_option, run.name});
  const Outcome outcome = run_process(command);
  std::optional<Measurement> result = measurement_in(outcome.output);
  if (!outcome.good() || !result) {
    print_error("run {} failed{}: its process {}\n", run.name, result ? " after it was measured" : "", outcome.what());
    measured.all_good = false;
  }
  if (!result) return;
  if (plan.repeat) result->repetition = repetition;
  measured.runs.push_back(*std::move(result));
}

Measured measure_all(const Plan& plan, const std::vector<std::string>& arguments) {
  Measured measured;
  for (int repetition = 1; repetition <= plan.repeat.value_or(1); ++repetition) {
    for (const Run& run : plan.runs) {
      print("{}\n", heading(run, repetition, plan));
      add_result(run, repetition, plan, arguments, measured);
    }
  }
  return measured;
}

void check_files(const Plan& plan) {
  if (plan.default_files) {
    std::error_code ignored;  // a folder that cannot be made is reported by the next check
    std::filesystem::create_directories("results", ignored);
  }
  check_writable({"--json", plan.json});
  if (const std::string& trace = plan.runs.front().trace; !trace.empty()) check_writable({"--trace", trace});
  check_writable({"--plot", plan.plot});
  const Run& run = plan.runs.front();  // the only one if it has a checkpoint
  if (!run.checkpoint.empty()) check_writable({"--checkpoint", run.checkpoint});
  check_resumed(run);
}

void write_data(const Measurements& runs, const std::string& file) {
  detail::replace_file("experiment", file, document_of(runs));
  print("data: {}\n", file);
}

void draw_picture(const Measurements& runs, const std::string& file) { report_picture(draw_memory(runs, file), file); }

// Writes a file. Returns whether it could be written, and says why if not.
bool save(void (*write)(const Measurements& runs, const std::string& file), const Measurements& runs,
          const std::string& file) {
  try {
    write(runs, file);
    return true;
  } catch (const Error& error) {
    print_error("{}\n", error.parts().message);
    return false;
  }
}

// Returns the exit status.
int report(const Measured& measured, const Plan& plan) {
  if (measured.runs.empty()) {
    print_error("No run was measured, so '{}' and '{}' stay as they were.\n", plan.json, plan.plot);
    return 1;
  }
  print("\n{}\n{}\n", table(measured.runs), sentences(measured.runs));
  const bool has_data = save(write_data, measured.runs, plan.json);
  const bool has_picture = save(draw_picture, measured.runs, plan.plot);
  return measured.all_good && has_data && has_picture ? 0 : 1;
}

int compare(const Plan& plan, int argc, char** argv) {
  check_files(plan);
  return report(measure_all(plan, {argv, argv + argc}), plan);
}

int run_named(const std::string& name, int argc, char** argv, const Program& program) {
  const Plan plan = parse_plan(name, argc, argv, program.settings, program.options);
  if (!plan.help.empty()) {
    print("{}", plan.help);
  } else if (!plan.measured_run.empty()) {
    measure(named(plan.runs, plan.measured_run), program);
  } else if (plan.dry_run) {
    dry_run(plan.runs.front(), program);
  } else {
    return compare(plan, argc, argv);
  }
  return 0;
}

}  // namespace

int main_detail::run(int argc, char** argv, const Program& program) {
  return run_main(argc, argv, [&](const std::string& name) { return run_named(name, argc, argv, program); });
}

}  // namespace asyncgrad::experiment
