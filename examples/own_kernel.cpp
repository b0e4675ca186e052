// A kernel of the program's own, with its gradient: x sigmoid(1.702 x), an approximation of gelu, in one pass.
#include <cmath>
#include <cstdio>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

// The elements are cut into parts by their number alone, so that the result is the same on every machine.
ag::CustomOptions in_parts(const ag::Tensor& x) {
  return {.tiles = x.numel() < 100'000 ? 1 : 16, .cost = 20 * x.numel()};
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

void run_gelu(const ag::CustomCall& call) {
  const auto x = call.input<float>(0);
  const auto y = call.output<float>();
  const auto [begin, end] = call.part_of(call.output_shape().numel());
  for (auto i = begin; i < end; ++i) y[i] = x[i] * sigmoid(1.702F * x[i]);
}

void run_gelu_gradient(const ag::CustomCall& call) {
  const auto dy = call.input<float>(0), x = call.input<float>(1);
  const auto dx = call.output<float>();
  const auto [begin, end] = call.part_of(call.output_shape().numel());
  for (auto i = begin; i < end; ++i) {
    const float s = sigmoid(1.702F * x[i]);
    dx[i] = dy[i] * (s + 1.702F * x[i] * s * (1 - s));
  }
}

ag::Tensor quick_gelu(const ag::Arg& input) {
  const ag::Tensor& x = input.tensor();
  const ag::Tensor y = ag::custom("quick_gelu", {.shape = x.shape()}, {x.detach()}, run_gelu, in_parts(x));
  const auto backward = [](const ag::GradientCall& call) {
    const ag::Tensor& x = call.saved(0);
    return ag::custom("quick_gelu_gradient", {.shape = x.shape()}, {call.dy(), x}, run_gelu_gradient, in_parts(x));
  };
  return ag::with_gradient("quick_gelu", y, {x}, backward, {x});
}

int main() {
  const ag::nn::Sequential net{ag::nn::Dense(8, 64, quick_gelu), ag::nn::Dense(64, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.05});
  const ag::Tensor x = ag::randn({512, 8}), y = ag::sum(x * x, 1, true) / 8;
  double first = 0, last = 0;
  for (int step = 0; step <= 200; ++step) {
    const ag::Tensor loss = ag::mean(ag::nn::l2_loss(net(x), y));
    if (step % 50 == 0) std::printf("step %3d: loss %.4f\n", step, last = loss.item());
    if (step == 0) first = last;
    loss.backward();
    sgd.step();
    sgd.zero_grad();
  }
  return last < 0.5 * first ? 0 : 1;
}
