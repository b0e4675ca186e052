#include "asyncgrad/autograd/tape/reuse.h"

#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

bool is_exclusive(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const Storage& storage = *impl.storage;
  return impl.references == 1 && storage.handles == 1 && fills(storage, impl.shape, impl.dtype) && !storage.is_foreign;
}

Destination new_like(const Tensor& x) { return {make_like(x, x.shape()), Access::write}; }

Destination over(const Tensor& dy) {
  return is_exclusive(dy) && !has_history(dy) ? Destination{dy, Access::finish} : new_like(dy);
}

}  // namespace asyncgrad::detail
