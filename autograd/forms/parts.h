// Operations that gradients are made of: each is recorded, and the gradient of another one here. Internal.
#pragma once

#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/tape/operation_node.h"

namespace asyncgrad::detail {

// x in another shape of as many elements; shares storage.
inline Tensor with_shape(const Tensor& x, const Shape& shape) {
  Tensor y = make_view(x, shape);
  if (records(x)) {
    record("reshape", Location(), y, {x}, differentiable([](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return with_shape(dy, gradients.shape(0)); });
           }));
  }
  return y;
}

// The elements of x in `region`, no two of which coincide.
Tensor part(const Tensor& x, const Region& region);
// A tensor of `shape` that holds x in `region`, and zeros elsewhere.
Tensor placed(const Tensor& x, const Region& region, const Shape& shape);
// A tensor of `shape` that shares x's storage, from `offset` elements on; marked as a view, for checked_operand and
// check_writable. Without history.
Tensor marked_view(const Tensor& x, const Shape& shape, std::int64_t offset);
// The elements of x in `region`, which lie one behind the other, in `shape`; shares storage.
Tensor shared_part(const char* operation, const Tensor& x, const Region& region, const Shape& shape, Location where);
// Records that y, of any shape, holds the elements of x in `region`.
void record_part(const char* operation, const Tensor& x, const Tensor& y, const Region& region, Location where);

}  // namespace asyncgrad::detail
