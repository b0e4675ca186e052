// The training of the chapter's MLP, as benchmarks run it.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "figures.h"

namespace asyncgrad::benchmarks {

// On the default device.
class ChapterTraining {
 public:
  // Queues a step on a batch drawn anew; returns its loss.
  Tensor step() {
    const Tensor x = randn({1024, 512}), y = ones({1024, 1});
    const Tensor loss = mean(nn::l2_loss(net_(x), y));
    loss.backward();
    sgd_.step();
    sgd_.zero_grad();
    return loss;
  }

 private:
  nn::Sequential net_{nn::Dense(512, 2048, relu), nn::Dense(2048, 512, relu), nn::Dense(512, 1)};
  optim::SGD sgd_{nn::parameters(net_), {.lr = 0.01}};
};

// The time of one step: `steps` steps are queued by `step` without barriers and waited for together.
template <class Step>
double step_seconds(int steps, Step step) {
  const double started = seconds();
  for (int i = 0; i < steps; ++i) step();
  wait_all();
  return (seconds() - started) / steps;
}

}  // namespace asyncgrad::benchmarks
