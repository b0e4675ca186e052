// Attention with several heads.
#pragma once

#include <cstdint>

#include "asyncgrad/nn/dense.h"

namespace asyncgrad::nn {

struct MultiHeadAttentionOptions {
  bool causal = false;                       // position i sees the positions 0 … i alone
  bool bias = true;                          // of the projections; starts with zeros
  Initialiser initialiser = xavier_uniform;  // of the weights
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// Vaswani et al. 2017, "Attention is all you need", section 3.2.2: q, k, v = x weight + bias are cut into `heads` parts
// of C / heads features; each head attends with the scale 1 / sqrt(C / heads); their results, side by side, go through
// `out`. x (N, T, C) -> (N, T, C); qkv has the weight (C, 3 C), whose columns are those of q, k and v; out (C, C).
struct MultiHeadAttention {
  // Queues the initial values; may wait for room. Throws Error unless `heads` divides `features`, both at least 1, and
  // as Dense does.
  MultiHeadAttention(std::int64_t features, std::int64_t heads, const MultiHeadAttentionOptions& options = {},
                     Location where = Location::current());

  // x attends to itself. Queued; may wait for room. Throws Error if x is not (N, T, C), or if its type or device is not
  // that of the weights. Several threads may call a const layer at once.
  Tensor operator()(const Arg& x) const { return attend(x, x, {}); }
  // x (N, T, C) attends to memory (N, S, C). The mask is added to the scores, to whose shape (N, heads, T, S) it is
  // broadcast; -inf hides a key; Tensor{} stands for none.
  Tensor attend(const Arg& x, const Arg& memory, const Tensor& mask) const;
  void members(Members& m);

  Dense qkv, out;
  std::int64_t heads;
  bool causal;
};

}  // namespace asyncgrad::nn
