// Losses: one value a sample. For training take the mean: `mean(l2_loss(net(x), y)).backward()`.
//
// Nothing is broadcast: a label with as many elements as the prediction takes the prediction's shape, any other throws
// Error. They throw Error too if types or devices differ.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// (prediction - label)^2 / 2, averaged over all axes but the first: (N, ...), (N, ...) -> (N)
Tensor l2_loss(const Arg& prediction, const Arg& label);

// (prediction - label)^2, averaged over all axes but the first: (N, ...), (N, ...) -> (N)
Tensor squared_error(const Arg& prediction, const Arg& label);

// -log softmax(logits)[label]: logits (N, C), labels (N), class indices of int64 -> (N). A label that is not in [0, C)
// is found when the loss is computed, and surfaces at the wait.
Tensor softmax_cross_entropy(const Arg& logits, const Arg& labels);

}  // namespace asyncgrad::nn
