#include "asyncgrad/experiment/train.h"

#include <fmt/format.h>

#include <queue>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random.h"

namespace asyncgrad::experiment {

void set_up(const Run& run) {
  EngineOptions options = engine_options();
  if (run.workers > 0) options.workers = run.workers;
  options.schedule = run.schedule;
  options.memory_budget = run.budget;
  set_engine_options(options);
  manual_seed(run.seed);
}

void train(const Run& run, const main_detail::Training& training, Recorder& recorder) {
  if (training.parameters().empty()) {
    throw_error("experiment", "the training lists no parameters, and their bits are what the runs are compared by");
  }
  // The first step takes memory that later steps reuse, which no run should count.
  if (const Tensor loss = training.step(); loss.numel() != 1) {
    throw_error("experiment", fmt::format("the loss of a step must be a scalar, got the shape {}", loss.shape().str()));
  }
  recorder.start();
  std::queue<Mark> in_flight;
  for (int batch = 0; batch < run.batches; ++batch) {
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
  }
  recorder.finish(training.parameters());
}

}  // namespace asyncgrad::experiment
