// Selection whose shape depends on values. These wait until x is computed, and throw the Error of the first failed
// operation on which it depends: a training without barriers has one here.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The indices of the elements that are not 0, in row-major order: x of K axes -> (n, K) in int64. NaN is not 0.
Tensor nonzero(const Arg& x);

// The elements where the mask, bool and of x's shape, is true, in row-major order: (n). Differentiable in x.
Tensor masked_select(const Arg& x, const Arg& mask);

struct UniqueResult {
  Tensor values;   // (n), ascending; NaN, of which each counts as another, comes last
  Tensor inverse;  // of x's shape, int64: values[inverse] is x
  Tensor counts;   // (n), int64: how often each is in x
};
// The different elements of x, which is float32, float64 or int64. Not differentiable.
UniqueResult unique(const Arg& x);

}  // namespace asyncgrad
