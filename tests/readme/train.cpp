#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

int main() {
  const ag::nn::Sequential net{ag::nn::Dense(64, 32, ag::relu), ag::nn::Dense(32, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.01});
  for (int batch = 0; batch < 150; ++batch) {
    const ag::Tensor x = ag::randn({128, 64}), y = ag::ones({128, 1});
    const ag::Tensor loss = ag::mean(ag::nn::l2_loss(net(x), y));  // queued, not computed, as all that follows
    loss.backward();
    sgd.step();
    sgd.zero_grad();
    // loss.wait();   // the book's barrier for every batch: not needed here to keep memory small
  }
  ag::wait_all();
}
