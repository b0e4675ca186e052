// Trains LeNet to read handwritten digits, with barriers and without, and tests it on digits that it has not seen.
#include <random>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/digits_data.h"
#include "examples/support/experiment.h"
#include "examples/support/loop.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

void train(const support::Run& run, support::Recorder& recorder) {
  const digits::Split data = digits::enlarged(digits::load(digits::default_path()), 28);
  // LeCun et al. 1998, "Gradient-based learning applied to document recognition", with relu and maxima.
  ag::nn::Sequential net{ag::nn::Conv2d(1, 6, 5, ag::relu, {.padding = 2}),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Conv2d(6, 16, 5, ag::relu),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Flatten(),
                         ag::nn::Dense(400, 120, ag::relu),
                         ag::nn::Dense(120, 84, ag::relu),
                         ag::nn::Dense(84, digits::classes)};
  ag::optim::Adam adam(ag::nn::parameters(net), {.lr = run.lr});
  std::mt19937_64 random(run.seed);
  digits::Batches batches(data.train, run.batch_size, random);

  auto step = [&] {
    const digits::Data batch = batches.next();
    ag::Tensor loss = ag::mean(ag::nn::softmax_cross_entropy(net(batch.images), batch.labels));  // not computed yet
    adam.zero_grad();
    loss.backward();  // queued
    adam.step();      // queued
    return loss;
  };

  support::train_batches(run, recorder, ag::nn::parameters(net), step);  // with the barriers of the run
  if (run.schedule == ag::Schedule::dry_run) return;
  const ag::Inference inference;
  const ag::Tensor is_right = ag::equal(ag::argmax(net(data.held_out.images), 1), data.held_out.labels);
  support::print("it reads {:.2f} % of the digits held out\n", 100 * ag::mean(is_right.to(ag::float32)).item());
}

int main(int argc, char** argv) {
  support::Settings defaults;
  defaults.batches = 900;
  defaults.batch_size = 64;
  defaults.hidden = {};
  defaults.lr = 0.002;
  return support::compare_runs(argc, argv, train, defaults);
}
