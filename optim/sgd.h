// Stochastic gradient descent.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::optim {

struct SGDOptions {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// Updates each parameter p with its gradient g, with v = 0 before the first step:
//   g += weight_decay p;   v = momentum v + g;   p -= lr v,   or with nesterov   p -= lr (g + momentum v)
// (Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning", in the form that keeps
// lr out of v, so that a new lr takes effect at once.) One thread at a time may use an optimiser.
class SGD {
 public:
  // Keeps handles of the parameters and, with momentum, queues the initial v of each; may wait for room. Throws Error
  // without parameters, if one requires no gradient or is the result of an operation, if two share their values, and
  // for options that make no sense: the numbers must be finite and not negative, and nesterov needs momentum.
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {}, Location where = Location::current());

  // Queues the update of every parameter that has a gradient, as one operation for each element type and device, which
  // updates all of its parameters or, if it fails, none. Gradients stay. May wait for room. Throws Error if no
  // parameter has a gradient.
  void step(Location where = Location::current());

  // Drops the gradients; queues nothing and does not block.
  void zero_grad();

  double lr() const { return options_.lr; }
  void set_lr(double lr);  // takes effect at the next step; throws as the constructor does

 private:
  std::vector<Tensor> parameters_;
  std::vector<Tensor> velocities_;  // empty without momentum
  SGDOptions options_;
};

}  // namespace asyncgrad::optim
