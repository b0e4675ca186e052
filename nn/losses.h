// Losses, which give one value for each sample. For training take the mean: `mean(l2_loss(net(x), y)).backward()`.
//
// All are differentiable, are queued, and may wait for room. Nothing is broadcast: a label with as many elements as the
// prediction takes the prediction's shape, any other label throws Error. Types or devices that differ throw Error, too.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// (prediction - label)^2 / 2, averaged over all axes but the first: (N, ...), (N, ...) -> (N)
Tensor l2_loss(const Arg& prediction, const Arg& label);

// (prediction - label)^2, averaged over all axes but the first: (N, ...), (N, ...) -> (N)
Tensor squared_error(const Arg& prediction, const Arg& label);

// -log softmax(logits)[label]: logits (N, C), labels (N), which are class indices in int64, int32 or uint8 -> (N).
// The values of labels are known later, so the wait throws Error for a label outside of [0, C). On a GPU the row's loss
// and gradient are NaN instead.
Tensor softmax_cross_entropy(const Arg& logits, const Arg& labels);

}  // namespace asyncgrad::nn
