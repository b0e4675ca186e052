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

// With the gradient g of a parameter p, and v = 0 at first:
//   g += weight_decay p;   v = momentum v + g;   p -= lr v,   or with nesterov   p -= lr (g + momentum v)
// (Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning", in the form of it that
// keeps lr out of v, so that a new lr acts at once.)
class SGD {
 public:
  // Holds handles of the parameters and, with momentum, queues the making of v for each. Throws Error if there is none,
  // if one requires no gradient or two share their values, and for options without sense: the numbers must be finite
  // and not negative, and nesterov needs momentum.
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {}, Location where = Location::current());

  // Queues the update of every parameter that has a gradient, as one operation (one for each element type and device):
  // all of it or, after a failure, nothing. Gradients stay. Throws Error if no parameter has a gradient. May wait for
  // room.
  void step(Location where = Location::current());

  // Lets the gradients go; queues nothing.
  void zero_grad();

  double lr() const { return options_.lr; }
  void set_lr(double lr);  // from the next step on; throws as the constructor does

 private:
  std::vector<Tensor> parameters_;
  std::vector<Tensor> velocities_;  // if there is momentum
  SGDOptions options_;
};

}  // namespace asyncgrad::optim
