// A network of convolutions and pooling trains on a GPU, a real or an emulated one, to the losses of the CPU.
#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {

namespace {

constexpr int steps = 20;

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
  Tensor losses = zeros({steps}, {.device = device});
  for (int i = 0; i < steps; ++i) {
    const auto body = [&] {
      const Tensor loss = mean(cross_entropy(net(x), labels));
      adam.zero_grad();
      loss.backward();
      adam.step();
      return loss.detach();
    };
    const Tensor loss = graph != nullptr ? (*graph)(body) : body();
    losses.slice(i, i + 1).copy_(loss.reshape({1}));
  }
  return losses.to(Device()).to_vector<float>();
}

using CudaLeNet = OnFirstGpu;
TEST_F(CudaLeNet, TrainsToTheLossesOfTheCpu) {
  const std::vector<float> on_cpu = train_lenet(Device(), nullptr), on_gpu = train_lenet("cuda", nullptr);
  EXPECT_LT(on_cpu.back(), 0.5 * on_cpu.front());
  for (std::size_t i = 0; i < steps; ++i) EXPECT_NEAR(on_gpu[i], on_cpu[i], 1e-3) << "at step " << i;
  LaunchGraph step("training step");
  EXPECT_EQ(train_lenet("cuda", &step), on_gpu);
  EXPECT_GT(step.replays(), 0);
}

}  // namespace

}  // namespace asyncgrad::tests
