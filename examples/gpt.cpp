// Trains a small transformer to write text character by character, with barriers and without, and prints what it
// writes.
#include "examples/support/gpt.h"
#include "asyncgrad/asyncgrad.h"
#include "examples/support/experiment.h"
#include "examples/support/loop.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

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

  support::train_batches(run, recorder, ag::nn::parameters(model), step);  // with the barriers of the run
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
