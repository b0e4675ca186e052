// A program whose training has state of many kinds: an optimiser with momentum, a schedule that depends on --batches,
// random numbers, a place in the data. Its run in-flight:1 is killed at the eighth batch.
#include <csignal>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 10, .batch_size = 4} {}
  std::string lacks = "nothing";
  void options(ag::experiment::Options& o) { o("lacks", lacks, "What the list of members lacks"); }
};

struct Training {
  Settings settings;
  bool is_killed;
  ag::nn::Sequential net{ag::nn::Dense(3, 8, ag::tanh), ag::nn::Dropout(0.25), ag::nn::Dense(8, 1)};
  ag::optim::SGD sgd{ag::nn::parameters(net), {.lr = 0.1, .momentum = 0.9}};
  ag::optim::Schedule schedule{sgd, ag::optim::cosine(settings.batches + 1)};
  double place = 0;
  int steps = 0;  // is no state, as it changes no value

  void members(ag::nn::Members& m) {
    m("net", net);
    if (settings.lacks != "optimiser") m("sgd", sgd);
    if (settings.lacks != "schedule") m("schedule", schedule);
    if (settings.lacks != "place") m("place", place);
  }
};

ag::Tensor step(Training& t) {
  if (t.is_killed && t.steps++ == 8) raise(SIGKILL);  // the first one warms up
  ag::Tensor loss = ag::mean(ag::square(t.net(ag::randn({t.settings.batch_size, 3}) + t.place) - 1));
  t.place += 0.125;
  t.sgd.zero_grad();
  loss.backward();
  t.sgd.step();
  t.schedule.step();
  return loss;
}

int main(int argc, char** argv) {
  // As the library starts it: PROGRAM --measured-run NAME …
  const bool is_killed = argc > 2 && std::string(argv[2]) == "in-flight:1";
  const auto make = [=](const Settings& settings) { return Training{.settings = settings, .is_killed = is_killed}; };
  return ag::experiment::main(argc, argv, make, step);
}
