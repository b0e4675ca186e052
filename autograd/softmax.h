// Softmax, its logarithm, and the loss of a classifier. Queued; all throw Error at the call for int64 values and for
// axes or shapes that do not fit.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// e^x / sum(e^x) along an axis, with the maximum subtracted first, so that nothing overflows.
Tensor softmax(const Arg& x, int axis = -1);
// x - log(sum(e^x)) along an axis, computed likewise.
Tensor log_softmax(const Arg& x, int axis = -1);

// -log_softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N). A label outside of [0, C) is an
// Error at the wait, as values are known only then; on a GPU the row's loss and gradient are NaN.
Tensor cross_entropy(const Arg& logits, const Arg& labels);

}  // namespace asyncgrad
