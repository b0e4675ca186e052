// A small network's training on the first GPU, each step as a graph's call or without one.
#pragma once

#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

struct TrainingSizes {
  std::int64_t batch = 16, inputs = 20, hidden = 30;
  int steps = 40;
};

// Returns the losses of a training with both optimisers, random numbers, and another learning rate at each step.
inline std::vector<float> train(LaunchGraph* graph, bool has_barrier, const TrainingSizes& sizes = {}) {
  const Device device = "cuda:0";
  Generator generator(3);
  const auto matrix = [&](const Shape& shape) {
    return parameter(uniform(shape, -0.2, 0.2, {.device = device, .generator = &generator}));
  };
  const Tensor w = matrix({sizes.inputs, sizes.hidden}), bias = matrix({sizes.hidden}), out = matrix({sizes.hidden, 1});
  optim::SGD sgd({w}, {.lr = 0.1, .momentum = 0.9});
  optim::Adam adam({bias, out});
  Tensor losses = zeros({sizes.steps}, {.device = device});  // one tensor, so that steps find the same memory free
  for (int i = 0; i < sizes.steps; ++i) {
    const auto body = [&] {
      const Tensor x = randn({sizes.batch, sizes.inputs}, {.device = device, .generator = &generator});
      const Tensor loss = mean(nn::l2_loss(matmul(dense(x, w, bias, relu), out), sum(x, 1, true)));
      sgd.zero_grad();
      adam.zero_grad();
      loss.backward();
      sgd.step();
      adam.step();
      return loss.detach();
    };
    sgd.set_lr(0.1 / (1 + i));
    const Tensor loss = graph != nullptr ? (*graph)(body) : body();
    losses.slice(i, i + 1).copy_(loss.reshape({1}));
    if (has_barrier) losses.wait();
  }
  return losses.to_vector<float>();
}

}  // namespace asyncgrad::tests
