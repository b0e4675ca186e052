// Softmax, its logarithm, and the loss of a classifier. All are differentiable, are queued, and may wait for room in
// the queue. They throw Error at the call for int64 values and for axes or shapes that do not fit.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// e^x / sum(e^x) along an axis. The maximum is subtracted first, so that nothing overflows.
Tensor softmax(const Arg& x, int axis = -1);
// x - log(sum(e^x)) along an axis. The maximum is subtracted first here, too.
Tensor log_softmax(const Arg& x, int axis = -1);

// -log_softmax(logits)[label] for each row: logits (N, C), labels (N) in int64, int32 or uint8 -> (N). Throws Error at
// the call for labels where there is no class. The values of labels are known later, so the wait throws Error for a label
// outside of [0, C). On a GPU the row's loss and gradient are NaN instead.
Tensor cross_entropy(const Arg& logits, const Arg& labels);

}  // namespace asyncgrad
