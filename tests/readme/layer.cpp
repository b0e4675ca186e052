#include <iostream>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

// y = x * weight + shift, for each feature.
struct Scale {
  ag::Tensor weight, shift;
  explicit Scale(int features)
      : weight(ag::parameter(ag::ones({features}))), shift(ag::parameter(ag::zeros({features}))) {}

  ag::Tensor operator()(const ag::Tensor& x) const { return x * weight + shift; }
  void members(ag::nn::Members& m) {  // parameters, buffers and inner layers, by name
    m("weight", weight);
    m("shift", shift);
  }
};

int main() {
  const ag::nn::Sequential net{ag::nn::Dense(8, 16, ag::relu), Scale(16), ag::nn::Dense(16, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.05});  // Scale's are among them
  const ag::Tensor x = ag::randn({256, 8}), y = ag::sum(x, 1, true);
  for (int step = 0; step < 200; ++step) {
    const ag::Tensor loss = ag::mean(ag::nn::l2_loss(net(x), y));
    if (step % 50 == 0) std::cout << "loss " << loss.item() << '\n';  // item() waits
    loss.backward();
    sgd.step();
    sgd.zero_grad();
  }
  std::cout << ag::nn::summary(net);
}
