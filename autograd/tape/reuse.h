// Gradients that are written over others, which nobody needs any more. Internal.
#pragma once

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// True if no other handle shares the tensor's storage, and the storage holds nothing else and is not the program's.
bool is_exclusive(const Tensor& tensor);

// A destination is what an operation writes a result to: a new tensor, or one whose values it reads and replaces.
struct Destination {
  Tensor tensor;
  Access access;

  OperandRef operand() const { return {tensor.impl(), access}; }
};
// A new tensor of x's shape and type.
Destination new_like(const Tensor& x);
// The destination of a result of dy's shape and type, where dy's values are not needed after the operation: dy itself
// if no other handle shares them. An operation that writes there reads an element of dy before it writes that element.
Destination over(const Tensor& dy);

}  // namespace asyncgrad::detail
