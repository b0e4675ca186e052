// Compares runs of a network of one's own: the whole program.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
namespace ag = asyncgrad;

struct Training {
  std::int64_t batch_size;
  ag::nn::Dense net{16, 4};
  ag::optim::SGD sgd{ag::nn::parameters(net), {.lr = 0.01}};
  void members(ag::nn::Members& m) { m("net", net); }
};

Training make(const ag::experiment::Settings& settings) { return {settings.batch_size}; }

ag::Tensor step(Training& t) {
  const ag::Tensor loss = ag::mean(ag::square(t.net(ag::randn({t.batch_size, 16}))));
  t.sgd.zero_grad();
  loss.backward();
  t.sgd.step();
  return loss;
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step); }
