// Adagrad.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

struct AdagradOptions {
  double lr = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0;
  double initial_accumulator = 0;
};

// Updates each parameter p with its gradient g, with s = initial_accumulator before the first step:
//   g += weight_decay p;   s += g²;   p -= lr g / (sqrt(s) + epsilon)
// (Duchi, Hazan and Singer 2011, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", in the
// form of PyTorch. A schedule does what lr_decay does there.)
class Adagrad : public Optimizer {
 public:
  // Keeps handles of the parameters and queues the initial s of each; may wait for room. Throws Error as
  // every optimiser does (optimizer.h), and unless the options are finite and not negative.
  explicit Adagrad(std::vector<Tensor> parameters, AdagradOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, AdagradOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
