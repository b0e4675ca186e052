// Lion.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};

// Updates each parameter p with its gradient g, with m = 0 before the first step:
//   p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p);   m = beta2 m + (1 - beta2) g
// (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", arXiv 2302.06675, algorithm 2.) Every element moves
// by lr, so that the learning rate is 3 to 10 times smaller than AdamW's, and the decay as many times larger.
class Lion : public Optimizer {
 public:
  // Keeps handles of the parameters and queues the initial m of each; may wait for room. Throws Error as
  // every optimiser does (optimizer.h), and unless the options are finite and not negative, and the betas less than 1.
  explicit Lion(std::vector<Tensor> parameters, LionOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, LionOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
