// Layers that compute nothing.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// (N, A, B, ...) -> (N, A B ...); (N) -> (N, 1). Shares storage; queues nothing.
struct Flatten {
  // Does not block. Throws Error for a scalar.
  Tensor operator()(const Arg& x) const;
};

// x itself: a place that another layer may take.
struct Identity {
  Tensor operator()(const Arg& x) const { return x.tensor(); }
};

}  // namespace asyncgrad::nn
