// A network of convolutions and pooling trains on a GPU, a real or an emulated one, to the losses of the CPU.
#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"
#include "tests/backends/cuda/training.h"

namespace asyncgrad::tests {

namespace {

constexpr int lenet_steps = 20;

// Returns the losses of a reduced LeNet, which learns by heart labels of noise; a graph's call computes each step.
std::vector<float> train_lenet(Device device, LaunchGraph* graph) {
  constexpr std::int64_t batch = 10, edge = 12, classes = 5;
  Generator generator(3);
  const auto conv = [&](std::int64_t channels, std::int64_t outputs, const nn::Conv2dOptions& options) {
    nn::Conv2dOptions complete = options;
    complete.generator = &generator;
    return nn::Conv2d(channels, outputs, 3, relu, complete);
  };
  const auto dense = [&](std::int64_t inputs, std::int64_t outputs, const Activation& activation) {
    return nn::Dense(inputs, outputs, activation, {.generator = &generator});
  };
  nn::Sequential net =
      nn::to(nn::Sequential{conv(1, 4, {.padding = 1}), nn::MaxPool2d(2), conv(4, 10, {}), nn::AvgPool2d(2),
                            nn::Flatten(), dense(40, 20, relu), dense(20, classes, {})},
             device);
  optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  const Tensor x = randn({batch, 1, edge, edge}, {.generator = &generator}).to(device);
  std::vector<std::int64_t> labels_of;
  for (std::int64_t i = 0; i < batch; ++i) labels_of.push_back(i % classes);
  const Tensor labels = Tensor::from(labels_of, {batch}, device);
  return losses_of(lenet_steps, device, graph, [&] {
    const Tensor loss = mean(cross_entropy(net(x), labels));
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  });
}

using CudaLeNet = OnFirstGpu;
TEST_F(CudaLeNet, TrainsToTheLossesOfTheCpu) { expect_the_cpus_losses(train_lenet, 0.5); }

}  // namespace

}  // namespace asyncgrad::tests
