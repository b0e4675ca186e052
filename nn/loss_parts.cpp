#include "asyncgrad/nn/loss_parts.h"

#include <cstdint>
#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::nn::losses_detail {

Tensor shaped(const Arg& label, const Shape& shape) {
  return label->shape() == shape ? label.tensor() : label->reshape(shape, label.where());
}

void check_types(const char* loss, const char* x_name, const Arg& x, const char* y_name, const Arg& y) {
  if (x->dtype() == y->dtype()) return;
  const detail::NamedOperand operands[] = {{x_name, *x->impl()}, {y_name, *y->impl()}};
  detail::throw_types_differ(loss, operands, y_name, x->dtype());
}

void check_type_of(const char* loss, const char* x_name, const Arg& x, const char* option, const Tensor& weight) {
  if (weight.defined()) check_types(loss, x_name, x, option, Arg(weight, x.where()));
}

Losses::Losses(Tensor values, Location where) : values_(std::move(values)), where_(where) {}

void Losses::count(const Tensor& counts) { counts_ = expand(at(to(at(counts), values_.dtype())), values_.shape()); }

Tensor Losses::reduced(Reduction reduction) const {
  switch (reduction) {
    case Reduction::none:
      return values_;
    case Reduction::sum:
      return sum(at(values_));
    case Reduction::mean:
      return counts_.defined() ? divided(sum(at(values_)), sum(at(counts_))) : mean(at(values_));
    default:
      return counts_.defined() ? divided(of_samples(values_, false), of_samples(counts_, false))
                               : of_samples(values_, true);
  }
}

// 0 where nothing counts.
Tensor Losses::divided(const Tensor& total, const Tensor& count) const {
  const Tensor is_empty = at(count) == 0;
  return at(total) / at(at(count) + at(to(at(is_empty), count.dtype())));
}

// (N, ...) -> (N), a mean or a sum. Queues nothing if each sample has one element.
Tensor Losses::of_samples(const Tensor& x, bool is_mean) const {
  const Shape& shape = x.shape();
  if (shape.rank() <= 1) return x;
  const std::int64_t row = shape.numel(1, shape.rank());
  if (row == 1) return x.reshape({shape[0]}, where_);
  const Tensor rows = x.reshape({shape[0], row}, where_);
  return is_mean ? mean(at(rows), 1) : sum(at(rows), 1);
}

}  // namespace asyncgrad::nn::losses_detail
