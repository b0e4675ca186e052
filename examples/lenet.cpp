// Trains LeNet to read handwritten digits, with barriers and without, and tests it on digits that it has not seen.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/digits_data.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 900, .batch_size = 64} {}
  double lr = 0.002;
  void options(ag::experiment::Options& o) { o("lr", lr, "Learning rate"); }
};

// LeCun et al. 1998, "Gradient-based learning applied to document recognition", with relu and maxima.
struct Training {
  Settings settings;
  digits::Split data = digits::load(digits::default_path());
  ag::nn::Sequential net{ag::nn::Conv2d(1, 6, 5, ag::relu, {.padding = 2}),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Conv2d(6, 16, 5, ag::relu),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Flatten(),
                         ag::nn::Dense(400, 120, ag::relu),
                         ag::nn::Dense(120, 84, ag::relu),
                         ag::nn::Dense(84, digits::classes)};
  ag::optim::Adam adam{ag::nn::parameters(net), {.lr = settings.lr}};
  digits::Batches batches{data.train, settings.batch_size, settings.seed};

  ag::Tensor scores(const ag::Tensor& images) const { return net(digits::enlarged(images, 28)); }
  void members(ag::nn::Members& m) {
    m("net", net);
    m("adam", adam);
    m("batches", batches);
  }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor step(Training& t) {
  const digits::Tensors batch = t.batches.next();
  ag::Tensor loss = ag::mean(ag::nn::softmax_cross_entropy(t.scores(batch.images), batch.labels));  // queued
  loss.backward();
  t.adam.step();
  t.adam.zero_grad();
  return loss;
}

void report(const Training& t) {
  const ag::nn::Function scores([&](const ag::Tensor& images) { return t.scores(images); });
  support::print("it reads {:.2f} % of the digits held out\n", 100 * digits::accuracy(scores, t.data.held_out));
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
