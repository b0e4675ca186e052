// The fully connected layer.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/activation.h"
#include "asyncgrad/nn/init.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct DenseOptions {
  bool bias = true;                          // the bias starts with zeros
  Initialiser initialiser = xavier_uniform;  // of the weight; he_uniform suits relu
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// activation(x weight + bias): x (…, I), weight (I, O), bias (O) -> (…, O)
struct Dense {
  // Queues the initial values; may wait for room. Throws Error if in_features or out_features is less than 1, for a
  // type other than float32 and float64, and what the initialiser throws.
  Dense(std::int64_t in_features, std::int64_t out_features, Activation activation = {},
        const DenseOptions& options = {}, Location where = Location::current());
  // A layer without an activation.
  Dense(std::int64_t in_features, std::int64_t out_features, const DenseOptions& options,
        Location where = Location::current())
      : Dense(in_features, out_features, Activation(), options, where) {}
  template <NoActivation<DenseOptions> Other>
  Dense(std::int64_t in_features, std::int64_t out_features, const Other&, const DenseOptions& = {},
        Location = Location::current())
      : Dense(in_features, out_features) {
    activation_detail::refuse<Other>();
  }

  // Queued; may wait for room. Throws Error if x is not (…, I), or if its type or device is not that of the weight. A
  // const Dense may be called by several threads at once.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  Tensor bias;  // Tensor{} without a bias
  Activation activation;
};

}  // namespace asyncgrad::nn
