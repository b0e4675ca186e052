// RMSprop.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

struct RMSpropOptions {
  double lr = 0.01;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};

// Updates each parameter p with its gradient g, with v = m = b = 0 before the first step:
//   g += weight_decay p;   v = alpha v + (1 - alpha) g²;   d = g / (sqrt(v) + epsilon)
//   centered:        m = alpha m + (1 - alpha) g, and v - m² takes the place of v under the root
//   with momentum:   b = momentum b + d, and b takes the place of d
//   p -= lr d
// (Tieleman and Hinton 2012, "Neural Networks for Machine Learning", lecture 6.5; centered: Graves 2013, "Generating
// Sequences With Recurrent Neural Networks"; both in the form of PyTorch. If rounding makes v - m² negative, it counts
// as 0 here, while PyTorch's root is NaN.)
class RMSprop : public Optimizer {
 public:
  // Keeps handles of the parameters and queues the initial v, m and b of each, as far as the options want them; may
  // wait for room. Throws Error as every optimiser does (optimizer.h), and unless the options are finite and not
  // negative, and alpha less than 1.
  explicit RMSprop(std::vector<Tensor> parameters, RMSpropOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, RMSpropOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
