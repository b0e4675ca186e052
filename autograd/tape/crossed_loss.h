// A loss that compares each prediction with every label. Internal.
#pragma once

#include <span>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// The shapes of the operands of a difference.
struct CrossedShapes {
  Shape x, y;
};

// Whether one of the operands, of which one requires a gradient and the other, the labels, does not, lacks a last axis
// of extent 1 that the other one has: (6, 1) and (6) broadcast to (6, 6).
bool crosses_in_loss(const Tensor& x, const Tensor& y);

// Warns of such a difference in a loss: where nothing but what losses are made of is between it and one of the tensors,
// which have a history. Looks at a few nodes of the tape.
void warn_of_crossed_loss(std::span<const Tensor> losses);

}  // namespace asyncgrad::detail
