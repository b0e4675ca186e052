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
  bool decoupled_weight_decay = false;  // true makes it AdamW
};

// Updates each parameter p with its gradient g, at its step t = 1, 2, …, with m = v = 0 before the first:
//   g += weight_decay p,   or with decoupled_weight_decay   p -= lr weight_decay p
//   m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g²
//   p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
// (Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization"; Loshchilov and Hutter 2019, "Decoupled Weight
// Decay Regularization", whose schedule multiplier is part of lr here, as in PyTorch.) A step counts for a parameter if
// it has a gradient and the update does not fail. One thread at a time may use an optimiser.
class Adam {
 public:
  // Keeps handles of the parameters and queues the initial m, v and t of each; may wait for room. Throws Error without
  // parameters, if one requires no gradient or is the result of an operation, if two share their values, and for
  // options that make no sense: the numbers must be finite and not negative, the betas less than 1.
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {}, Location where = Location::current());

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
  std::vector<Tensor> first_moments_;
  std::vector<Tensor> second_moments_;
  std::vector<Tensor> steps_;
  AdamOptions options_;
};

}  // namespace asyncgrad::optim
