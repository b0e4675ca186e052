#include "asyncgrad/autograd/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/networks/decomposed.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/triangle.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

constexpr const char* operation = "scaled_dot_product_attention";

void check_operands(const Arg& q, const Arg& k, const Arg& v) {
  const NamedOperand operands[] = {
      {"q", checked_operand(q, operation)}, {"k", checked_operand(k, operation)}, {"v", checked_operand(v, operation)}};
  check_devices(operation, operands);
  check_types(operation, operands);
  check_dtype(Op::attention, operation, operands[0]);
  const Shape &qs = q->shape(), &ks = k->shape(), &vs = v->shape();
  if (qs.rank() < 2 || ks.rank() != qs.rank() || vs.rank() != qs.rank() || leading_axes(qs) != leading_axes(ks) ||
      leading_axes(qs) != leading_axes(vs)) {
    throw_error(operation, fmt::format("needs q (…, T, D), k (…, S, D), v (…, S, E) with the same leading axes: {}",
                                       shapes_str(operands)));
  }
  if (qs[-1] != ks[-1] || ks[-2] != vs[-2] || qs[-1] == 0) {
    throw_error(operation,
                fmt::format("needs q (…, T, D), k (…, S, D), v (…, S, E) with D > 0: {}", shapes_str(operands)));
  }
}

void check_mask(const Arg& q, const Shape& scores, const Tensor& mask) {
  const NamedOperand a{"q", *q->impl()}, b{"mask", checked_operand(mask, operation)};
  check_devices(operation, {a, b});
  if (b.impl.dtype != boolean) check_alike(operation, {a, b});
  Shape shape = scores;
  if (broadcast_into(shape, b.impl.shape) && shape == scores) return;
  throw_error(operation, fmt::format("the mask cannot be repeated to the scores' shape: mask {}, scores {}{}",
                                     b.impl.shape.str(), scores.str(), broadcast_rule));
}

// The mask of bool as one that is added: 0 where the key is seen, else -inf.
Tensor added_mask(const Tensor& is_seen, const Arg& q) {
  const Tensor zero = full({}, 0, {.dtype = q->dtype(), .device = q->device()}, q.where());
  const Tensor hidden =
      full({}, -std::numeric_limits<double>::infinity(), {.dtype = q->dtype(), .device = q->device()}, q.where());
  return where(Arg(is_seen, q.where()), zero, hidden);
}

Shape scores_shape(const Tensor& q, const Tensor& k) { return q.shape().with(-1, k.size(-2)); }

double scale_of(const Tensor& q, const AttentionOptions& options) {
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
}

// The backward function. It needs the operands, the result and the logarithms of the rows' sums.
class AttentionBackward {
 public:
  AttentionBackward(const AttentionAttributes& attributes, const Tensor& q, const Tensor& k, const Tensor& v,
                    const Tensor& mask, const Tensor& y, const Tensor& sums)
      : attributes_(attributes), q_(q), k_(k), v_(v), mask_(save(mask, mask.defined())), y_(y), sums_(sums) {}

  void operator()(const Tensor& dy, Gradients& gradients) const {
    if (gradients.are_recorded()) return differentiate_decomposed(dy, gradients);
    const Tensor &q = gradients.read(q_), &k = gradients.read(k_), &v = gradients.read(v_);
    const Tensor &y = gradients.read(y_), &sums = gradients.read(sums_);
    Tensor dq = make_like(q, q.shape()), dk = make_like(k, k.shape()), dv = make_like(v, v.shape());
    AttentionAttributes attributes = attributes_;
    attributes.math = math_mode();
    OperandList operands;
    for (const Tensor* const gradient : {&dq, &dk, &dv}) operands.add(writes(*gradient));
    for (const Tensor* const value : {&q, &k, &v, &y, &sums, &dy}) operands.add(reads(*value));
    if (attributes.has_mask) operands.add(reads(gradients.read(mask_)));
    submit(Op::attention_grad, operands, attributes, Location());
    gradients(0, [&] { return std::move(dq); });
    gradients(1, [&] { return std::move(dk); });
    gradients(2, [&] { return std::move(dv); });
  }

 private:
  void differentiate_decomposed(const Tensor& dy, Gradients& gradients) const {
    const Tensor inputs[] = {gradients.read_input(q_, 0), gradients.read_input(k_, 1), gradients.read_input(v_, 2)};
    const AttentionOptions options{.causal = attributes_.is_causal,
                                   .mask = attributes_.has_mask ? gradients.read(mask_) : Tensor(),
                                   .scale = attributes_.scale};
    differentiate(gradients, inputs, dy,
                  [&](std::span<const Tensor> in) { return decomposed_attention(in[0], in[1], in[2], options); });
  }

  AttentionAttributes attributes_;
  SavedTensor q_, k_, v_, mask_, y_, sums_;
};

Tensor fused_attention(const Arg& q, const Arg& k, const Arg& v, const AttentionOptions& options) {
  const Tensor& mask = options.mask;
  const AttentionAttributes attributes{
      .scale = scale_of(q, options), .is_causal = options.causal, .has_mask = mask.defined(), .math = math_mode()};
  const Shape rows = Shape(std::span(q->shape().begin(), q->shape().end() - 1));
  Tensor y = make_like(q, q->shape().with(-1, v->size(-1)));
  const Tensor sums = make_like(q, rows);
  OperandList operands;
  operands.add(writes(y));
  operands.add(writes(sums));
  for (const Arg* const operand : {&q, &k, &v}) operands.add(reads(*operand));
  operands.add_reads(mask);
  submit(Op::attention, operands, attributes, q.where());
  if (records(q, k, v)) {
    record(Recorded(Op::attention).as(operation), q.where(), y, {q, k, v},
           differentiable(AttentionBackward(attributes, q, k, v, mask, y, sums)));
  }
  return y;
}

}  // namespace

Tensor scaled_dot_product_attention(const Arg& q, const Arg& k, const Arg& v, const AttentionOptions& options) {
  check_operands(q, k, v);
  check_finite(operation, "the scale", scale_of(q, options));
  if (!options.mask.defined()) return fused_attention(q, k, v, options);
  check_mask(q, scores_shape(q, k), options.mask);
  if (options.mask.dtype() == boolean) {
    AttentionOptions added = options;
    added.mask = added_mask(options.mask, q);
    return fused_attention(q, k, v, added);
  }
  const bool needs_scores = has_history(options.mask) && grad_enabled();
  return needs_scores ? decomposed_attention(q, k, v, options) : fused_attention(q, k, v, options);
}

namespace detail {

Tensor decomposed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Shape shape = scores_shape(q, k);
  Tensor scores = matmul(q, k, {.transpose_w = true}) * scale_of(q, options);
  if (options.mask.defined()) scores = scores + options.mask;
  if (options.causal) {
    const Tensor above = triu(ones({shape[-2], shape[-1]}, {.dtype = q.dtype(), .device = q.device()}), 1);
    scores = masked_fill(scores, above, -infinity);
  }
  if (shape[-1] == 0) return matmul(scores, v);
  // Rows without a key that is seen have no softmax.
  const Tensor is_hidden = equal(max(scores.detach(), -1, true), -infinity);
  const Tensor shares = softmax(masked_fill(scores, is_hidden, 0));
  return matmul(masked_fill(shares, is_hidden, 0), v);
}

}  // namespace detail

}  // namespace asyncgrad
