// One layer of a recurrent network over a whole sequence, as one operation: what nn/recurrent.h is made of. Internal.
#pragma once

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Operands that have been checked.
struct RecurrentCall {
  RecurrentKind kind;
  bool is_backward;  // from the last step to the first
  Tensor x;          // (T, N, I), T > 0
  Tensor weight_ih;  // (I, G H), for G gates
  Tensor bias_ih;    // (G H), beside the product with weight_ih, or Tensor{}
  Tensor weight_hh;  // (H, G H)
  Tensor bias_hh;    // (G H), beside the product with weight_hh, or Tensor{}
  Tensor h, c;       // (N, H): what the state was before; c of an LSTM alone
  Tensor lengths;    // (N) int64, or Tensor{}: sequence n keeps its state in the steps from lengths[n] on
  Location where;
};

// h after each step, (T, N, H). An LSTM gives (T + 1, N, H): its last row is c after the last step that is taken.
// Differentiable in all but the lengths. Queues 2 T + 1 operations, or on a GPU two if the layer is small; may wait for
// room. A length outside of [0, T] is an Error at the wait, on the CPU.
Tensor recurrent(const RecurrentCall& call);

}  // namespace asyncgrad::detail
