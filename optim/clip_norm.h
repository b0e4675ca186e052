// Limits the length of gradients.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::optim {

// Scales the gradients of the parameters, seen as one vector g, to a length of at most max_norm:
//   g *= min(1, max_norm / (|g| + 1e-6))
// (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks", in the form of
// PyTorch.) Returns |g| as it was before, a float64 scalar on the device of the first gradient; 0 if there is none. A
// parameter without a gradient is passed over. Of a gradient that is kept by rows (nn/embedding.h) the sum for each row
// counts. Queued: it neither reads a value nor waits for one, but may wait for room. If |g| is not finite, as where its
// square is too large for a gradient's type, gradients become 0 or NaN, as in PyTorch. Throws Error unless max_norm is
// finite and not negative.
Tensor clip_norm(const std::vector<Tensor>& parameters, double max_norm, Location where = Location::current());

}  // namespace asyncgrad::optim
