// Adam and AdamW.
#pragma once

#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
struct AdamWOptions {
  double lr = AdamOptions{}.lr;
  double beta1 = AdamOptions{}.beta1;
  double beta2 = AdamOptions{}.beta2;
  double epsilon = AdamOptions{}.epsilon;
  double weight_decay = 1e-2;
};

// Updates each parameter p with its gradient g, at its step t = 1, 2, …, with m = v = 0 before the first:
//   g += weight_decay p
//   m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g²
//   p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
// (Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization".) A step counts for a parameter if it has a
// gradient and the update does not fail.
class Adam : public Optimizer {
 public:
  // Keeps handles of the parameters and queues the initial m, v and t of each; may wait for room. Throws Error as
  // every optimiser does (optimizer.h), and unless the options are finite and not negative, and the betas less than 1.
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Location where = Location::current());
  // Adds parameters with options of their own. Waits and throws as the constructor does.
  void add_group(std::vector<Tensor> parameters, AdamOptions options = {}, Location where = Location::current());
};

// As Adam, but the decay is apart from the gradient:
//   p -= lr weight_decay p   in place of   g += weight_decay p
// (Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", whose schedule multiplier is part of lr here,
// as in PyTorch.)
class AdamW : public Optimizer {
 public:
  // Waits and throws Error as Adam does.
  explicit AdamW(std::vector<Tensor> parameters, AdamWOptions options = {}, Location where = Location::current());
  void add_group(std::vector<Tensor> parameters, AdamWOptions options = {}, Location where = Location::current());
};

}  // namespace asyncgrad::optim
