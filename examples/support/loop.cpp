#include "examples/support/loop.h"

#include <queue>

#include "asyncgrad/core/engine.h"

namespace support {

void train_batches(const Run& run, Recorder& recorder, const std::vector<asyncgrad::Tensor>& parameters,
                   const std::function<asyncgrad::Tensor()>& step) {
  step();  // the first step takes memory once, which no run should count
  recorder.start();
  std::queue<asyncgrad::Mark> in_flight;
  for (int batch = 0; batch < run.batches; ++batch) {
    const asyncgrad::Tensor loss = step();
    if (run.barrier == Barrier::batch) loss.wait();
    if (run.barrier == Barrier::in_flight) {
      in_flight.push(asyncgrad::mark());
      if (in_flight.size() == run.in_flight) {
        in_flight.front().wait();
        in_flight.pop();
      }
    }
    recorder.batch_done(loss);
  }
  recorder.finish(parameters);
}

}  // namespace support
