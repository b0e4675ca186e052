// An optimiser of the program's own, which a checkpoint keeps: Signum (Bernstein et al. 2018, "signSGD") steps by the
// sign of an average of the gradients.
#include <cstdio>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

// average = momentum average + (1 - momentum) g;   p -= lr sign(average)
class Signum final : public ag::optim::Optimizer {
 public:
  Signum(std::vector<ag::Tensor> parameters, double lr, double momentum, ag::Location where = ag::Location::current())
      : Optimizer("Signum"), momentum_(momentum) {
    Group group = made(std::move(parameters), lr, where);  // checks both; errors name the line `where`
    add_state(group, "averages", 0, where);                // a tensor of zeros beside each parameter
    add(std::move(group));
  }
  // The groups, and the other values that a checkpoint is to keep.
  void members(ag::nn::Members& m) override {
    Optimizer::members(m);
    m("steps", steps_);
  }

 private:
  // Queues the step of a group. A parameter without a gradient stays as it is.
  void update(std::size_t /*number*/, const Group& group, ag::Location /*where*/) override {
    const ag::NoGrad no_grad;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      ag::Tensor parameter = group.parameters[i], average = group.states[0].tensors[i];
      const ag::Tensor gradient = parameter.grad();
      if (!gradient.defined()) continue;
      average.copy_(momentum_ * average + (1 - momentum_) * gradient);
      parameter -= group.lr * ag::sign(average);
    }
    ++steps_;
  }

  double momentum_;
  std::int64_t steps_ = 0;
};

int main() {
  ag::nn::Dense line(1, 1);
  Signum signum(ag::nn::parameters(line), 0.01, 0.9);
  const ag::Tensor x = ag::randn({256, 1}), y = 3 * x - 0.5;
  ag::Tensor loss;
  for (int step = 0; step < 600; ++step) {
    if (step == 400) signum.set_lr(0.001);
    loss = ag::mean(ag::nn::l2_loss(line(x), y));
    loss.backward();
    signum.step();
    signum.zero_grad();
  }
  std::printf("weight %.3f, bias %.3f, loss %g\n", line.weight.item(), line.bias.item(), loss.item());
  return loss.item() < 1e-4 ? 0 : 1;
}
