// Trainings on the first GPU, each step as a graph's call or without one.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// Returns the losses of steps, each a call of the graph, or none if it is null.
template <class Step>
std::vector<float> losses_of(int steps, Device device, LaunchGraph* graph, Step step, bool has_barrier = false) {
  Tensor losses = zeros({steps}, {.device = device});  // one tensor, so that steps find the same memory free
  for (int i = 0; i < steps; ++i) {
    const auto body = [&] { return step().detach(); };
    const Tensor loss = graph != nullptr ? (*graph)(body) : body();
    losses.slice(i, i + 1).copy_(loss.reshape({1}));
    if (has_barrier) losses.wait();
  }
  return losses.to_vector<float>();
}

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
  int i = 0;
  const auto step = [&] {
    sgd.set_lr(0.1 / ++i);
    const Tensor x = randn({sizes.batch, sizes.inputs}, {.device = device, .generator = &generator});
    const Tensor loss = mean(nn::l2_loss(matmul(dense(x, w, bias, relu), out), sum(x, 1, true)));
    sgd.zero_grad();
    adam.zero_grad();
    loss.backward();
    sgd.step();
    adam.step();
    return loss;
  };
  return losses_of(sizes.steps, device, graph, step, has_barrier);
}

// train(device, graph) returns the losses of a training, which fall below this share of the first one.
template <class Train>
void expect_the_cpus_losses(Train train, double share) {
  const std::vector<float> expected = train(Device(), nullptr), losses = train("cuda:0", nullptr);
  ASSERT_EQ(losses.size(), expected.size());
  EXPECT_LT(expected.back(), share * expected.front()) << "it learns";
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-3) << "in step " << i;
  LaunchGraph step("training step");
  EXPECT_EQ(train("cuda:0", &step), losses);
  EXPECT_GT(step.replays(), 0);
}

}  // namespace asyncgrad::tests
