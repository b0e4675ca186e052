#include "asyncgrad/autograd/tape/leaf.h"

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/backend/formulas.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

void make_buffer(Tensor& gradient, const Shape& shape, const Tensor& like) {
  if (!gradient.defined()) {
    gradient = zeros(shape, {.dtype = like.dtype(), .device = like.device()}, Location());
  } else if (!is_exclusive(gradient) || has_history(gradient)) {
    gradient = gradient.clone();
  }
}

Tensor sum_of_gradients(Tensor x, Tensor y) {
  if (x.dtype() == bfloat16) return (x.to(float32) + y.to(float32)).to(bfloat16);
  if (records(x, y)) return x + y;
  const Destination sum = over(is_exclusive(x) ? x : y);
  submit(Op::elementwise, {sum.operand(), reads(x), reads(y)},
         ElementwiseAttributes{.formula = formulas::id<formulas::Add>()}, Location());
  return sum.tensor;
}

void Leaf::drop_lost() {
  if (grad_.defined() && is_lost(grad_)) grad_ = Tensor();
  if (rows_.is_lost()) rows_.clear();
}

const Tensor& Leaf::buffer(const Tensor& like) {
  drop_lost();
  make_buffer(grad_, shape(), like);
  rows_.move_to(grad_);
  return grad_;
}

bool Leaf::keep_rows(const Tensor& indices, const Tensor& dy) {
  drop_lost();
  if (grad_.defined()) return false;
  rows_.add(indices, dy);
  return true;
}

void Leaf::accumulate(Tensor gradient) {
  drop_lost();
  if (!rows_.is_empty()) buffer(gradient);
  if (grad_.defined()) {
    grad_ = sum_of_gradients(std::move(grad_), std::move(gradient));
  } else {
    grad_ = is_exclusive(gradient) ? std::move(gradient) : gradient.clone();
  }
}

}  // namespace asyncgrad::detail
