// Stochastic gradient descent.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

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
// lr out of v, so that a new lr takes effect at once.)
class SGD : public Optimizer {
 public:
  // Keeps handles of the parameters and, with momentum, queues the initial v of each; may wait for room. Throws Error
  // as every optimiser does (optimizer.h), and unless the options are finite and not negative; nesterov needs momentum.
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, SGDOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
