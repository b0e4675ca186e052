// A gradient of the program's own: a layer computes with weights rounded to 1/8, and learns as if they were not.
#include <cstdio>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

// Rounds x to 1/8. The derivative of rounding is 0 nearly everywhere, but the gradient here is that of x itself.
ag::Tensor in_steps(const ag::Tensor& x) {
  return ag::with_gradient("in_steps", ag::round(x.detach() * 8) / 8, {x},
                           [](const ag::GradientCall& call) { return call.dy(); });
}

// y = x w, with coarse weights.
struct Coarse {
  ag::Tensor weight = ag::parameter(ag::zeros({4, 1}));

  ag::Tensor operator()(const ag::Tensor& x) const { return ag::matmul(x, in_steps(weight)); }
  void members(ag::nn::Members& m) { m("weight", weight); }
};

int main() {
  Coarse layer;
  ag::optim::SGD sgd(ag::nn::parameters(layer), {.lr = 0.05});
  const ag::Tensor x = ag::randn({256, 4}), wanted = ag::Tensor::from({0.5F, -1.25F, 2.0F, 0.125F}, {4, 1});
  const ag::Tensor y = ag::matmul(x, wanted);
  for (int step = 0; step < 100; ++step) {
    const ag::Tensor loss = ag::mean(ag::nn::l2_loss(layer(x), y));
    if (step % 20 == 0) std::printf("step %2d: loss %.5f\n", step, loss.item());
    loss.backward();
    sgd.step();
    sgd.zero_grad();
  }
  const double error = ag::max(ag::abs(in_steps(layer.weight) - wanted), 0).item();
  std::printf("the coarse weights are off by %g\n", error);
  return error == 0 ? 0 : 1;
}
