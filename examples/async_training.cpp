// Trains the chapter's multilayer perceptron asynchronously: with a barrier for every batch, with a few batches in
// flight, and without barriers. Shows for each run how long the front end is busy and how much memory is live.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  std::vector<std::int64_t> hidden{2048, 512};
  double lr = 0.01;

  void options(ag::experiment::Options& o) {  // of the command line, besides those of every experiment
    o("hidden", hidden, "Widths of the two hidden layers");
    o("lr", lr, "Learning rate");
  }
};

struct Training {
  Settings settings;
  ag::nn::Sequential net{ag::nn::Dense(512, settings.hidden[0], ag::relu),
                         ag::nn::Dense(settings.hidden[0], settings.hidden[1], ag::relu),
                         ag::nn::Dense(settings.hidden[1], 1)};
  ag::optim::SGD sgd{ag::nn::parameters(net), {.lr = settings.lr}};

  void members(ag::nn::Members& m) {  // what the runs are compared by, and a checkpoint keeps
    m("net", net);
    m("sgd", sgd);
  }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor step(Training& t) {
  ag::Tensor x = ag::randn({t.settings.batch_size, 512}), y = ag::ones({t.settings.batch_size, 1});
  ag::Tensor loss = ag::mean(ag::nn::l2_loss(t.net(x), y));  // queued, not computed, as all that follows
  loss.backward();
  t.sgd.step();
  t.sgd.zero_grad();
  return loss;
}

// Calls step() for every batch, with the barriers of each run: loss.wait() after it, or none.
int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step); }
