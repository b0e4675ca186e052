// Trains ten steps of a small MLP with the installed library.
#include <cstdio>
#include <vector>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

int main() {
  const ag::nn::Sequential net{ag::nn::Dense(4, 16, ag::relu), ag::nn::Dense(16, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.05});
  const ag::Tensor x = ag::randn({32, 4});
  const ag::Tensor y = ag::ones({32, 1});
  std::vector<ag::Tensor> losses;
  for (int step = 0; step < 10; ++step) {
    losses.push_back(ag::mean(ag::nn::l2_loss(net(x), y)));
    sgd.zero_grad();
    losses.back().backward();
    sgd.step();
  }
  ag::wait_all();
  std::printf("loss %g, after ten steps %g\n", losses.front().item(), losses.back().item());
  return losses.back().item() < losses.front().item() ? 0 : 1;
}
