// A program like async_training whose runs end as their names make them: `batch` throws, `none` is killed,
// `in-flight:1` is interrupted by the user, and the others are good.
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/experiment.h"

void train(const support::Run& run, support::Recorder& recorder) {
  const asyncgrad::Tensor value = asyncgrad::ones({2});
  recorder.start();
  if (run.name == "batch") throw std::runtime_error("the loss is gone");
  if (run.name == "none") raise(SIGKILL);
  if (run.name == "in-flight:1") {
    kill(getppid(), SIGINT);
    pause();
  }
  for (int batch = 0; batch < run.batches; ++batch) recorder.batch_done(asyncgrad::sum(value));
  recorder.finish({value});
}

int main(int argc, char** argv) { return support::compare_runs(argc, argv, train); }
