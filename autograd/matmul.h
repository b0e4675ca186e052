// Matrix products.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Which operands are read transposed. Nothing is copied for that.
struct MatmulOptions {
  bool transpose_x = false, transpose_w = false;
};

// x w: (…, N, I) (…, I, O) -> (…, N, O), after `options` have transposed the last two axes of x or w. The axes before
// them are broadcast as in numpy.matmul, and repeated operands are not copied; with x (…, N, I) and w (I, O) it is one
// product of all rows. An operand with one axis is a row on the left and a column on the right, whose axis the result
// lacks; it cannot be transposed.
//
// Differentiable. Queued; may wait for room. Throws Error at the call for other shapes, for types other than float32,
// float64 and bfloat16, and for types or devices that differ. core/math_mode.h sets the precision of float32. Products
// of bfloat16 are summed in float32, and the result is rounded to bfloat16.
Tensor matmul(const Arg& x, const Arg& w, MatmulOptions options = {});

// A function of one tensor that a layer applies to its result, such as relu; null stands for none.
using Activation = Tensor (*)(const Arg&);

// activation(x weight + bias): x (…, I), weight (I, O), bias (O) or Tensor{} for none -> (…, O). One operation with
// relu or without an activation; any other activation is an operation of its own, on the rows (N, O). Differentiable.
// Queued; may wait for room. Throws as matmul does.
Tensor dense(const Arg& x, const Arg& weight, const Tensor& bias, Activation activation = nullptr);

}  // namespace asyncgrad
