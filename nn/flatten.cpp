#include "asyncgrad/nn/flatten.h"

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

Tensor Flatten::operator()(const Arg& x) const {
  const Shape& shape = x->shape();
  if (shape.rank() == 0) throw_error("Flatten", "needs an axis of samples, got a scalar");
  return x->reshape({shape[0], shape.numel(1, shape.rank())}, x.where());
}

}  // namespace asyncgrad::nn
