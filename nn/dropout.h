// The layer that drops elements in training.
#pragma once

#include "asyncgrad/autograd/dropout.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// dropout(x, p) in training; x itself under Evaluation and Inference. Any shape; the result has x's.
struct Dropout {
  // A null generator stands for the default one; the layer and its copies draw from the one that it is given, which
  // must outlive them. Throws Error for p outside of [0, 1].
  explicit Dropout(double p = dropout_probability, Generator* generator = nullptr,
                   Location where = Location::current());

  // Queued; may wait for room. Throws Error for int64, and if this thread may not use the generator.
  Tensor operator()(const Arg& x) const;
  void members(Members&) {}  // p is a setting, which a file does not change

  double p;
  Generator* generator;
};

}  // namespace asyncgrad::nn
