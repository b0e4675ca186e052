// Trains a small transformer to write text character by character, with barriers and without, and prints what it
// writes.
#include "examples/support/gpt.h"

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batch_size = 16} {}
  double lr = 0.001;
  void options(ag::experiment::Options& o) { o("lr", lr, "Learning rate"); }
};

struct Training {
  Settings settings;
  gpt::Sizes sizes{};
  text::Text text = text::read(text::default_path(), sizes.context);
  gpt::Model model{text.characters(), 0.1, sizes};
  ag::optim::AdamW adam{ag::nn::parameters(model), {.lr = settings.lr}};

  void members(ag::nn::Members& m) {
    m("model", model);
    m("adam", adam);
  }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor step(Training& t) {
  const gpt::Batch batch = gpt::random_batch(t.text, t.settings.batch_size, t.sizes.context);
  ag::Tensor loss = gpt::loss(t.model, batch.indices, batch.next);  // queued, not computed, as all that follows
  loss.backward();
  t.adam.step();
  t.adam.zero_grad();
  return loss;
}

void report(const Training& t) {
  support::print("it writes:\n{}\n", gpt::write_text(t.model, t.text, 200, t.settings.seed));
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
