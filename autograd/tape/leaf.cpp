#include "asyncgrad/autograd/tape/leaf.h"

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"

namespace asyncgrad::detail {

bool is_exclusive(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const std::int64_t bytes = impl.shape.numel() * static_cast<std::int64_t>(size_bytes(impl.dtype));
  return impl.references == 1 && impl.storage->handles == 1 && bytes == impl.storage->value_bytes;
}

void make_buffer(Tensor& gradient, const Shape& shape, const Tensor& like) {
  if (!gradient.defined()) {
    gradient = zeros(shape, {.dtype = like.dtype(), .device = like.device()}, Location());
  } else if (!is_exclusive(gradient) || has_history(gradient)) {
    gradient = gradient.clone();
  }
}

Tensor sum_of_gradients(const Tensor& x, const Tensor& y) {
  return x.dtype() == bfloat16 ? (x.to(float32) + y.to(float32)).to(bfloat16) : x + y;
}

const Tensor& Leaf::buffer(const Tensor& like) {
  make_buffer(grad_, shape(), like);
  rows_.move_to(grad_);
  return grad_;
}

bool Leaf::keep_rows(const Tensor& indices, const Tensor& dy) {
  if (grad_.defined()) return false;
  rows_.add(indices, dy);
  return true;
}

void Leaf::accumulate(Tensor gradient) {
  if (!rows_.is_empty()) buffer(gradient);
  if (grad_.defined()) {
    grad_ = sum_of_gradients(grad_, gradient);
  } else {
    grad_ = is_exclusive(gradient) ? std::move(gradient) : gradient.clone();
  }
}

}  // namespace asyncgrad::detail
