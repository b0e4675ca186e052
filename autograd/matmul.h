// Products of matrices.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Operands that are read transposed; nothing is copied for it.
struct MatmulOptions {
  bool transpose_x = false, transpose_w = false;
};

// x w: (N, I) (I, O) -> (N, O), either of them transposed first by `options`. Queued. Throws Error at the call for
// other shapes, int64, and types or devices that differ.
Tensor matmul(const Arg& x, const Arg& w, MatmulOptions options = {});

// A function of each element, as relu. Null: none.
using Activation = Tensor (*)(const Arg&);

// activation(x weight + bias): x (N, I), weight (I, O), bias (O) or Tensor{} for none -> (N, O). With relu or none it
// is one operation; another activation follows it. Queued. Throws as matmul.
Tensor dense(const Arg& x, const Arg& weight, const Tensor& bias, Activation activation = nullptr);

}  // namespace asyncgrad
