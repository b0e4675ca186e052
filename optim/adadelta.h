// Adadelta.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
};

// Updates each parameter p with its gradient g, with s = u = 0 before the first step:
//   g += weight_decay p;   s = rho s + (1 - rho) g²;   d = sqrt(u + epsilon) / sqrt(s + epsilon) g
//   u = rho u + (1 - rho) d²;   p -= lr d
// (Zeiler 2012, "ADADELTA: An Adaptive Learning Rate Method", arXiv 1212.5701, algorithm 1, which has no learning rate, in
// the form of PyTorch.) The first steps are short: about lr sqrt(epsilon / (1 - rho)).
class Adadelta : public Optimizer {
 public:
  // Keeps handles of the parameters and queues the initial s and u of each; may wait for room. Throws Error as
  // every optimiser does (optimizer.h), and unless the options are finite and not negative, and rho less than 1.
  explicit Adadelta(std::vector<Tensor> parameters, AdadeltaOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, AdadeltaOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
