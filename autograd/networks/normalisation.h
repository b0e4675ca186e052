// The operands that normalisations, and their gradients, have alike. Internal.
#pragma once

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// Throws Error unless the tensor is of x's type and device and has an element for each channel, which x has in axis 1.
void check_of_channels(const char* operation, NamedOperand x, const char* name, const Tensor& tensor);
// The same unless x has channels, and weight and bias, where they are defined, have an element for each.
void check_channels(const char* operation, NamedOperand x, const Tensor& weight, const Tensor& bias);

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

// The gradients. The gradient of a missing weight or bias is Tensor{}.
struct NormalisationGradients {
  Tensor dx, dweight, dbias;
};

// Queues the gradient `op`. dweight and dbias have the shape `parts`.
template <class Attributes>
NormalisationGradients queue_normalisation_grad(Op op, const Attributes& attributes, const Tensor& x,
                                                const Tensor& statistics, const Tensor& dy, const Tensor& weight,
                                                const Shape& parts) {
  const Destination dx = over(dy);
  NormalisationGradients results{.dx = dx.tensor, .dweight = {}, .dbias = {}};
  if (attributes.has_weight) results.dweight = make_like(dy, parts);
  if (attributes.has_bias) results.dbias = make_like(dy, parts);
  OperandList operands;
  operands.add(dx.operand());
  operands.add_writes(results.dweight);
  operands.add_writes(results.dbias);
  for (const Tensor* const value : {&x, &statistics, &dy}) operands.add(reads(*value));
  operands.add_reads(weight);
  submit(op, operands, attributes, Location());
  return results;
}

}  // namespace asyncgrad::detail
