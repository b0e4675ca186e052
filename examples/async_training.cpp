// Trains the chapter's multilayer perceptron asynchronously: with a barrier for every batch, with a few batches in
// flight, and without barriers. Shows for each run how long the front end is busy and how much memory is live.
#include <queue>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/experiment.h"

namespace ag = asyncgrad;
using support::Barrier;

void train(const support::Run& run, support::Recorder& recorder) {
  ag::nn::Sequential net{ag::nn::Dense(512, run.hidden[0], ag::relu),
                         ag::nn::Dense(run.hidden[0], run.hidden[1], ag::relu), ag::nn::Dense(run.hidden[1], 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = run.lr});

  auto step = [&] {
    ag::Tensor x = ag::randn({run.batch_size, 512}), y = ag::ones({run.batch_size, 1});
    ag::Tensor loss = ag::mean(ag::nn::l2_loss(net(x), y));  // queued, not computed
    sgd.zero_grad();
    loss.backward();  // queued
    sgd.step();       // queued
    return loss;
  };

  step();  // the first step takes memory once, which no run should count
  recorder.start();
  std::queue<ag::Mark> in_flight;
  for (int batch = 0; batch < run.batches; ++batch) {
    ag::Tensor loss = step();
    if (run.barrier == Barrier::batch) loss.wait();  // waits for the loss alone: its update may still run
    if (run.barrier == Barrier::in_flight) {
      in_flight.push(ag::mark());  // complete when the update is
      if (in_flight.size() == run.in_flight) {
        in_flight.front().wait();
        in_flight.pop();
      }
    }
    recorder.batch_done(loss);
  }
  recorder.finish(ag::nn::parameters(net));  // waits for everything
}

int main(int argc, char** argv) { return support::compare_runs(argc, argv, train); }
