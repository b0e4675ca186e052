// Leaves of the tape, and the gradients that they keep. Internal.
#pragma once

#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/autograd/tape/row_gradient.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// x + y, of bfloat16, too; over one of them, if no other handle shares it.
Tensor sum_of_gradients(Tensor x, Tensor y);
// Makes `gradient` a tensor that GradientBuffers::buffer may return.
void make_buffer(Tensor& gradient, const Shape& shape, const Tensor& like);

// The node of a tensor whose gradient the program asked for. A gradient that could not be computed is there until
// recover(), so that what depends on it fails, too; after that it counts as none.
class Leaf final : public Node {
 public:
  explicit Leaf(const Tensor& tensor) : Node("leaf", Location(), tensor) { note_use(tensor, StorageUse::parameter); }
  bool is_leaf() const override { return true; }
  bool is_intact() const override { return true; }
  bool is_differentiable() const override { return true; }
  void backward(Tensor, Gradients&) override {}
  void let_go() override {}
  // Adds to the gradient. The first one is kept without a copy if no other handle shares its values.
  void accumulate(Tensor gradient);
  // See GradientBuffers.
  const Tensor& buffer(const Tensor& like);
  bool keep_rows(const Tensor& indices, const Tensor& dy);
  bool has_gradient() const { return grad().defined() || has_rows(); }
  // Tensor{} where the gradient is kept by rows.
  Tensor grad() const { return grad_.defined() && !is_lost(grad_) ? grad_ : Tensor(); }
  bool has_rows() const { return !rows_.is_empty() && !rows_.is_lost(); }
  RowGradient& rows() { return rows_; }
  void zero_grad() {
    grad_ = Tensor();
    rows_.clear();
  }

 private:
  void drop_lost();

  // At most one of them holds the gradient: what is added as a tensor makes it a tensor.
  Tensor grad_;
  RowGradient rows_;
};

}  // namespace asyncgrad::detail
