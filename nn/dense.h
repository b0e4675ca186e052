// The fully connected layer.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/init.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct DenseOptions {
  bool bias = true;                          // zeros at first
  Initialiser initialiser = xavier_uniform;  // of the weight, whatever the activation; he_uniform suits relu
  DType dtype = float32;
  Device device = default_device();
  Generator* generator = nullptr;  // null: the default generator
};

// activation(x weight + bias): x (N, I), weight (I, O), bias (O) -> (N, O)
struct Dense {
  // Queues the initial values. Throws Error if `in` or `out` is less than 1, or the type is not floating.
  Dense(std::int64_t in, std::int64_t out, Activation activation = {}, DenseOptions options = {},
        Location where = Location::current());

  // Throws Error if x is not (N, I) or not of the weight's type and device.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;  // holds nothing without a bias
  Activation activation;
};

}  // namespace asyncgrad::nn
