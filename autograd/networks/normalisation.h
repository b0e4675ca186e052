// The operands that layer_norm and batch_norm, and their gradients, have alike. Internal.
#pragma once

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// Queues `op` of x, and returns its result. The statistics are written or read.
template <class Attributes>
Tensor queue_normalisation(Op op, const Attributes& attributes, const Arg& x, OperandRef statistics,
                           const Tensor& weight, const Tensor& bias) {
  Tensor y = make_like(x, x->shape());
  OperandList operands;
  operands.add(writes(y));
  operands.add(statistics);
  operands.add(reads(x));
  operands.add_reads(weight);
  operands.add_reads(bias);
  submit(op, operands, attributes, x.where());
  return y;
}

// The gradients. That of a weight or a bias which the operation does not have is Tensor{}.
struct NormalisationSlopes {
  Tensor dx, dweight, dbias;
};

// Queues the gradient `op`. dweight and dbias have the shape `parts`.
template <class Attributes>
NormalisationSlopes queue_normalisation_grad(Op op, const Attributes& attributes, const Tensor& x,
                                             const Tensor& statistics, const Tensor& dy, const Tensor& weight,
                                             const Shape& parts) {
  NormalisationSlopes slopes{.dx = make_like(dy, dy.shape()), .dweight = {}, .dbias = {}};
  if (attributes.has_weight) slopes.dweight = make_like(dy, parts);
  if (attributes.has_bias) slopes.dbias = make_like(dy, parts);
  OperandList operands;
  operands.add(writes(slopes.dx));
  operands.add_writes(slopes.dweight);
  operands.add_writes(slopes.dbias);
  for (const Tensor* const value : {&x, &statistics, &dy}) operands.add(reads(*value));
  operands.add_reads(weight);
  submit(op, operands, attributes, Location());
  return slopes;
}

}  // namespace asyncgrad::detail
