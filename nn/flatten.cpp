#include "asyncgrad/nn/flatten.h"

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

Tensor Flatten::operator()(const Arg& x) const {
  const Shape& shape = x->shape();
  if (shape.rank() == 0) throw_error("Flatten", "needs an axis of samples, got a scalar");
  std::int64_t row = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) row *= shape[axis];
  return x->reshape({shape[0], row}, x.where());
}

}  // namespace asyncgrad::nn
