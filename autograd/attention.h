// Attention.
#pragma once

#include <optional>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct AttentionOptions {
  bool causal = false;  // query i sees the keys 0 … i alone
  // Broadcast to the shape of the scores, (…, T, S). A mask of bool is true where the key is seen. A mask of q's type
  // is added to the scores, so that -inf hides a key.
  Tensor mask{};
  std::optional<double> scale{};  // of the products; 1 / sqrt(D) unless given
};

// softmax(scale q k^T + mask) v: q (…, T, D), k (…, S, D), v (…, S, E) -> (…, T, E), the leading axes alike: Vaswani et
// al. 2017, "Attention is all you need", section 3.2.1. A query from which all keys are hidden gives zeros.
//
// It takes a block of queries and keys at a time and never holds all scores, not even for the gradient, unless the mask
// requires a gradient. Differentiable in q, k, v and the mask. Queued; may wait for room. Throws Error at the call for
// int64, for shapes that do not fit, for D = 0, for a scale that is not finite, and for types or devices that differ.
// core/math_mode.h sets the precision of products on a CPU; a GPU computes in the operands' type.
Tensor scaled_dot_product_attention(const Arg& q, const Arg& k, const Arg& v, const AttentionOptions& options = {});

}  // namespace asyncgrad
