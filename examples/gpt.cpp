// Trains a small transformer to write text character by character, with barriers and without, and prints what it
// writes.
#include <queue>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/experiment.h"
#include "examples/support/gpt.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;
using support::Barrier;

void train(const support::Run& run, support::Recorder& recorder) {
  const gpt::Sizes sizes;
  const gpt::Text text = gpt::read_text(gpt::default_path(), sizes.context);
  gpt::Model model(static_cast<std::int64_t>(text.alphabet.size()), 0.1, sizes);
  ag::optim::AdamW adam(ag::nn::parameters(model), {.lr = run.lr});

  auto step = [&] {
    const gpt::Batch batch = gpt::random_batch(text, run.batch_size, sizes.context);
    ag::Tensor loss = gpt::loss(model, batch.indices, batch.next);  // queued, not computed
    adam.zero_grad();
    loss.backward();  // queued
    adam.step();      // queued
    return loss;
  };

  step();  // the first step takes memory once, which no run should count
  recorder.start();
  std::queue<ag::Mark> in_flight;
  for (int batch = 0; batch < run.batches; ++batch) {
    ag::Tensor loss = step();
    if (run.barrier == Barrier::batch) loss.wait();
    if (run.barrier == Barrier::in_flight) {
      in_flight.push(ag::mark());
      if (in_flight.size() == run.in_flight) {
        in_flight.front().wait();
        in_flight.pop();
      }
    }
    recorder.batch_done(loss);
  }
  recorder.finish(ag::nn::parameters(model));  // waits for everything
  if (run.schedule == ag::Schedule::dry_run) return;
  support::print("it writes:\n{}\n", gpt::write_text(model, text, 200, run.seed));
}

int main(int argc, char** argv) {
  support::Settings defaults;
  defaults.batch_size = 16;
  defaults.hidden = {};
  defaults.lr = 0.001;
  return support::compare_runs(argc, argv, train, defaults);
}
