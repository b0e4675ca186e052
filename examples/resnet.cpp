// Trains the residual network ResNet-18 to read handwritten digits, with barriers and without, and tests it on digits
// that it has not seen.
#include "examples/support/resnet.h"
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/digits_data.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batch_size = 64} {}
  double lr = 0.05;  // at first; it falls to 0 along a cosine
  std::int64_t width = 64, edge = 32;
  void options(ag::experiment::Options& o) {
    o("lr", lr, "Learning rate at first");
    o("width", width, "Channels of the first stage; each other stage has twice as many as the one before it");
    o("edge", edge, "Pixels of an image's edge, to which the digits are enlarged");
  }
};

struct Training {
  Settings settings;
  digits::Split data = digits::load(digits::default_path());
  ag::nn::Sequential net = resnet::resnet18({.channels = 1, .width = settings.width, .classes = digits::classes});
  ag::optim::SGD sgd{ag::nn::parameters(net), {.lr = settings.lr, .momentum = 0.9, .weight_decay = 5e-4}};
  ag::optim::Schedule schedule{sgd, ag::optim::cosine(settings.batches)};
  digits::Batches batches{data.train, settings.batch_size, settings.seed};

  ag::Tensor scores(const ag::Tensor& images) const { return net(digits::enlarged(images, settings.edge)); }
  void members(ag::nn::Members& m) {
    m("net", net);
    m("sgd", sgd);
    m("schedule", schedule);
    m("batches", batches);
  }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor step(Training& t) {
  const digits::Tensors batch = t.batches.next();
  ag::Tensor loss = ag::mean(ag::nn::softmax_cross_entropy(t.scores(batch.images), batch.labels));  // queued
  loss.backward();
  t.sgd.step();
  t.sgd.zero_grad();
  t.schedule.step();
  return loss;
}

void report(const Training& t) {
  const ag::nn::Function scores([&](const ag::Tensor& images) { return t.scores(images); });
  support::print("it reads {:.2f} % of the digits held out\n", 100 * digits::accuracy(scores, t.data.held_out));
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
