#include "asyncgrad/nn/losses.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

namespace {

// The label in `shape`; queues nothing.
Tensor shaped(const Arg& label, const Shape& shape) {
  return label->shape() == shape ? label.tensor() : label->reshape(shape, label.where());
}

void check(const char* loss, const Arg& prediction, const Arg& label) {
  const Shape &x = prediction->shape(), &y = label->shape();
  if (x.rank() == 0) throw_error(loss, "needs a prediction with an axis of samples, got a scalar");
  if (x.numel() != y.numel()) {
    throw_error(loss, fmt::format("the numbers of elements differ: prediction {}, label {}", x.str(), y.str()));
  }
  if (prediction->dtype() != label->dtype()) {
    throw_error(loss,
                fmt::format("types differ: prediction {}, label {}", name(prediction->dtype()), name(label->dtype())));
  }
}

// (N, ...) -> (N). Queues nothing if each sample has one element.
Tensor mean_of_samples(const Tensor& errors, Location where) {
  const Shape& shape = errors.shape();
  if (shape.rank() == 1) return errors;
  const std::int64_t row = shape.numel(1, shape.rank());
  if (row == 1) return errors.reshape({shape[0]}, where);
  return mean(Arg(errors.reshape({shape[0], row}, where), where), 1);
}

}  // namespace

Tensor l2_loss(const Arg& prediction, const Arg& label) {
  check("l2_loss", prediction, label);
  const Tensor y = shaped(label, prediction->shape());
  return mean_of_samples(half_squared_error(prediction, Arg(y, label.where())), prediction.where());
}

Tensor squared_error(const Arg& prediction, const Arg& label) {
  check("squared_error", prediction, label);
  const Location where = prediction.where();
  const Tensor difference = prediction - Arg(shaped(label, prediction->shape()), label.where());
  return mean_of_samples(square(Arg(difference, where)), where);
}

Tensor softmax_cross_entropy(const Arg& logits, const Arg& labels) {
  const Shape &x = logits->shape(), &y = labels->shape();
  if (x.rank() != 2 || y.numel() != x[0]) {
    throw_error("softmax_cross_entropy",
                fmt::format("needs logits (N, C) and labels (N), got {} and {}", x.str(), y.str()));
  }
  if (labels->dtype() == int32 || labels->dtype() == uint8) {
    return softmax_cross_entropy(logits, Arg(labels->to(int64, labels.where()), labels.where()));
  }
  if (labels->dtype() != int64) {
    throw_error("softmax_cross_entropy", fmt::format("needs labels of type int64, got {}", name(labels->dtype())));
  }
  return cross_entropy(logits, Arg(shaped(labels, {x[0]}), labels.where()));
}

}  // namespace asyncgrad::nn
