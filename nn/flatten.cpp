#include "asyncgrad/nn/flatten.h"

#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

Tensor Flatten::operator()(const Arg& x) const {
  const Shape& shape = layer_detail::shape_of("Flatten", x);
  if (shape.rank() == 0) throw_error("Flatten", "needs x (N, …), got a scalar ()");
  return x->reshape({shape[0], shape.numel(1, shape.rank())}, x.where());
}

}  // namespace asyncgrad::nn
