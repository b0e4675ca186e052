// The layer that turns all axes but the first into one.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// (N, A, B, ...) -> (N, A B ...); (N) -> (N, 1). Shares storage; queues nothing.
struct Flatten {
  // Does not block. Throws Error for a scalar.
  Tensor operator()(const Arg& x) const;
};

}  // namespace asyncgrad::nn
