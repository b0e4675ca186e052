#include "asyncgrad/experiment/train.h"

#include <fmt/format.h>

#include <exception>
#include <queue>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/experiment/training_file.h"

namespace asyncgrad::experiment {

void set_up(const Run& run) {
  EngineOptions options = engine_options();
  if (run.workers > 0) options.workers = run.workers;
  options.schedule = run.schedule;
  options.memory_budget = run.budget;
  options.recompute_to_fit = run.recompute;
  set_engine_options(options);
  manual_seed(run.seed);
}

namespace {

double serial_peak_bytes(Run run, const std::function<main_detail::Training()>& make) {
  run.schedule = Schedule::dry_run;
  run.recompute = false;
  set_up(run);
  {
    const main_detail::Training training = make();
    warm_up(training);
    reset_peaks(run.device);
    training.step();
    training.step();
  }
  const auto peak = static_cast<double>(memory_figures(run.device).serial_peak_bytes);
  recover();
  return peak;
}

}  // namespace

void warm_up(const main_detail::Training& training) {
  if (training.parameters().empty()) {
    throw_error("experiment", "the training lists no parameters, and their bits are what the runs are compared by");
  }
  if (const Tensor loss = training.step(); loss.numel() != 1) {
    throw_error("experiment", fmt::format("the loss of a step must be a scalar, got the shape {}", loss.shape().str()));
  }
}

Run with_budget_in_bytes(Run run, const std::function<main_detail::Training()>& make) {
  if (!run.budget_share) return run;
  run.budget = MemoryBudget::bytes(static_cast<std::int64_t>(*run.budget_share * serial_peak_bytes(run, make)));
  return run;
}

void train(const Run& run, const main_detail::Training& training, Recorder& recorder) {
  warm_up(training);  // no run should count its memory
  TrainingFile file(run, training);
  const int resumed_after = file.load();
  if (!run.checkpoint.empty() || !run.resume.empty()) {
    wait_all();
    recover();  // forgets the memory level that the copies for the file took
  }
  recorder.start(resumed_after);
  std::queue<Mark> in_flight;
  for (int batch = resumed_after; batch < run.end(); ++batch) {
    const Tensor loss = training.step();
    if (run.barrier == Barrier::batch) loss.wait();  // waits for the loss alone: its update may still run
    if (run.barrier == Barrier::in_flight) {
      in_flight.push(mark());  // complete when the update is
      if (in_flight.size() == run.in_flight) {
        in_flight.front().wait();
        in_flight.pop();
      }
    }
    recorder.batch_done(loss);
    file.batch_done(batch + 1);
  }
  // A trace that cannot be written does not cost the training.
  std::exception_ptr failure;
  try {
    recorder.finish(training.parameters());
  } catch (...) {
    if (!recorder.result()) throw;
    failure = std::current_exception();
  }
  try {
    file.finish();
  } catch (const std::exception& error) {
    if (!failure) throw;
    print_error("{}\n", error.what());
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace asyncgrad::experiment
