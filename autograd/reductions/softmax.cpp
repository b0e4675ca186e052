#include "asyncgrad/autograd/softmax.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The gradients by operations that are recorded.
Tensor decomposed_softmax_grad(Op op, const Tensor& y, const Tensor& dy, int axis) {
  return op == Op::softmax ? y * (dy - sum(y * dy, axis, true)) : dy - exp(y) * sum(dy, axis, true);
}
Tensor decomposed_cross_entropy_grad(const Tensor& x, const Tensor& labels, const Tensor& dy) {
  return unsqueeze(dy, 1) * (softmax(x, 1) - one_hot(labels, x.size(1), x.dtype()));
}

// softmax or log_softmax. The gradient of either is computed from the result.
Tensor normalised(Recorded forward, Op grad_op, const Arg& x, int axis) {
  const Op op = forward.op;
  const char* const operation = forward.name;
  const TensorImpl& impl = checked_operand(x, operation);
  check_dtype(op, operation, {"x", impl});
  axis = checked_axis(operation, impl.shape, axis);
  const ReduceAttributes attributes = around(impl.shape, axis);
  Tensor y = make_tensor(impl.shape, impl.dtype, impl.device);
  submit(op, {writes(y), reads(x)}, attributes, x.where());
  if (!records(x)) return y;
  record(forward, x.where(), y, {x},
         differentiable([=, saved = SavedTensor(y)](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] {
             const Tensor& result = gradients.read_result(saved);
             if (gradients.are_recorded()) return decomposed_softmax_grad(op, result, dy, axis);
             const Destination dx = over(dy);
             submit(grad_op, {dx.operand(), reads(result), reads(dy)}, attributes, Location());
             return dx.tensor;
           });
         }));
  return y;
}

void check_rows(const TensorImpl& logits, const TensorImpl& labels) {
  if (logits.shape.rank() == 2 && labels.shape.rank() == 1 && logits.shape[0] == labels.shape[0]) return;
  throw_error("cross_entropy",
              fmt::format("each row needs one label: needs logits (N, C) and labels (N), got logits {}, labels {}",
                          logits.shape.str(), labels.shape.str()));
}

}  // namespace

Tensor softmax(const Arg& x, int axis) { return normalised(Op::softmax, Op::softmax_grad, x, axis); }

Tensor log_softmax(const Arg& x, int axis) { return normalised(Op::log_softmax, Op::log_softmax_grad, x, axis); }

Tensor cross_entropy(const Arg& logits, const Arg& labels) {
  const TensorImpl &x = checked_operand(logits, "cross_entropy"), &classes = checked_operand(labels, "cross_entropy");
  if (is_narrow_index(classes.dtype)) return cross_entropy(logits, Arg(wide_indices(labels), labels.where()));
  check_devices("cross_entropy", {{"logits", x}, {"labels", classes}});
  check_dtype(Op::cross_entropy, "cross_entropy", {"logits", x});
  check_rows(x, classes);
  check_indices("cross_entropy", {"labels", classes});
  check_choice("cross_entropy", {"logits", x}, 1, {"labels", classes});
  Tensor loss = make_tensor(classes.shape, x.dtype, x.device);
  submit(Op::cross_entropy, {writes(loss), reads(logits), reads(labels)}, NoAttributes{}, logits.where());
  if (!records(logits)) return loss;
  record(
      Op::cross_entropy, logits.where(), loss, {logits},
      differentiable([x = SavedTensor(logits), labels = SavedTensor(labels)](const Tensor& dy, Gradients& gradients) {
        gradients(0, [&] {
          const Tensor &values = gradients.read_input(x, 0), &classes = gradients.read(labels);
          if (gradients.are_recorded()) return decomposed_cross_entropy_grad(values, classes, dy);
          Tensor dx = make_like(dy, gradients.shape(0));
          submit(Op::cross_entropy_grad, {writes(dx), reads(values), reads(classes), reads(dy)}, NoAttributes{},
                 Location());
          return dx;
        });
      }));
  return loss;
}

}  // namespace asyncgrad
