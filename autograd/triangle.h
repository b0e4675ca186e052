// Triangles of matrices.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The elements (…, i, j) with j - i <= diagonal (tril) or j - i >= diagonal (triu), and 0 in place of the others: the
// lower and the upper triangles of matrices x (…, N, M). `diagonal` may have any value.
// Differentiable. Queued; may wait for room. Throws Error at the call for x with less than two axes.
Tensor tril(const Arg& x, std::int64_t diagonal = 0);
Tensor triu(const Arg& x, std::int64_t diagonal = 0);

}  // namespace asyncgrad
