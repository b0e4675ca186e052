// Adam and AdamW.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;  // AdamW
};

// With the gradient g of a parameter p at its step t = 1, 2, …, and m = v = 0 at first:
//   g += weight_decay p,   or with decoupled_weight_decay   p -= lr weight_decay p
//   m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g²
//   p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
// (Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization"; Loshchilov and Hutter 2019, "Decoupled Weight
// Decay Regularization", whose schedule multiplier is in lr here, as in PyTorch.) A parameter's step is one that found
// a gradient and did not fail.
class Adam {
 public:
  // Holds handles of the parameters and queues the making of m, v and t for each. Throws Error if there is none, if one
  // requires no gradient or two share their values, and for options without sense: the numbers must be finite and not
  // negative, the betas less than 1.
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Location where = Location::current());

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
  std::vector<Tensor> first_moments_;
  std::vector<Tensor> second_moments_;
  std::vector<Tensor> steps_;
  AdamOptions options_;
};

}  // namespace asyncgrad::optim
