// The layer that makes rows of everything but the first axis.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// (N, A, B, ...) -> (N, A B ...); (N) -> (N, 1). Shares storage; queues nothing.
struct Flatten {
  // Throws Error for a scalar.
  Tensor operator()(const Arg& x) const;
};

}  // namespace asyncgrad::nn
