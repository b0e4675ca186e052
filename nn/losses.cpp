#include "asyncgrad/nn/losses.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
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

// A tensor of the options, which is broadcast to the shape of the losses.
const Tensor& checked_option(const char* loss, const char* option, const Tensor& given, const Shape& losses) {
  const Shape& shape = given.shape();
  bool fits = shape.rank() <= losses.rank();
  for (int axis = 1; fits && axis <= shape.rank(); ++axis) {
    fits = shape[shape.rank() - axis] == 1 || shape[shape.rank() - axis] == losses[losses.rank() - axis];
  }
  if (!fits) {
    throw_error(
        loss, fmt::format("{} {} is not broadcast to the shape of the losses, {}", option, shape.str(), losses.str()));
  }
  return given;
}

// Sums of losses and what they are divided by, for one loss.
class Losses {
 public:
  Losses(const char* name, Tensor values, Location where) : name_(name), values_(std::move(values)), where_(where) {}

  // Multiplies the losses, and leaves out those where the mask is false.
  void choose(const Tensor& weight, const Tensor& mask) {
    if (weight.defined()) values_ = at(values_) * at(checked_option(name_, "weight", weight, values_.shape()));
    if (!mask.defined()) return;
    if (mask.dtype() != boolean) {
      throw_error(name_, fmt::format("mask must be of bool, got {}", asyncgrad::name(mask.dtype())), ErrorKind::type);
    }
    values_ = where(at(checked_option(name_, "mask", mask, values_.shape())), at(values_), 0);
    count(mask);
  }
  // Means are divided by the sum of these in place of the number of losses.
  void count(const Tensor& counts) { counts_ = expand(at(to(at(counts), values_.dtype())), values_.shape()); }

  Tensor reduced(Reduction reduction) const {
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

 private:
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  // 0 where nothing counts.
  Tensor divided(const Tensor& total, const Tensor& count) const {
    const Tensor is_empty = at(count) == 0;
    return at(total) / at(at(count) + at(to(at(is_empty), count.dtype())));
  }
  // (N, ...) -> (N), a mean or a sum. Queues nothing if each sample has one element.
  Tensor of_samples(const Tensor& x, bool is_mean) const {
    const Shape& shape = x.shape();
    if (shape.rank() <= 1) return x;
    const std::int64_t row = shape.numel(1, shape.rank());
    if (row == 1) return x.reshape({shape[0]}, where_);
    const Tensor rows = x.reshape({shape[0], row}, where_);
    return is_mean ? mean(at(rows), 1) : sum(at(rows), 1);
  }

  const char* name_;
  Tensor values_, counts_;
  Location where_;
};

template <class Options>
Tensor reduced(const char* name, Tensor losses, const Options& options, Location where) {
  Losses all(name, std::move(losses), where);
  all.choose(options.weight, options.mask);
  return all.reduced(options.reduction);
}

void check_positive(const char* loss, const char* option, double value) {
  if (!(value > 0)) throw_error(loss, fmt::format("{} must be positive, got {}", option, value));
}

}  // namespace

Tensor l2_loss(const Arg& prediction, const Arg& label, const LossOptions& options) {
  check("l2_loss", prediction, label);
  const Tensor y = shaped(label, prediction->shape());
  return reduced("l2_loss", half_squared_error(prediction, Arg(y, label.where())), options, prediction.where());
}

Tensor squared_error(const Arg& prediction, const Arg& label, const LossOptions& options) {
  check("squared_error", prediction, label);
  const Location where = prediction.where();
  const Tensor difference = prediction - Arg(shaped(label, prediction->shape()), label.where());
  return reduced("squared_error", square(Arg(difference, where)), options, where);
}

Tensor l1_loss(const Arg& prediction, const Arg& label, const LossOptions& options) {
  check("l1_loss", prediction, label);
  const Tensor y = shaped(label, prediction->shape());
  return reduced("l1_loss", absolute_error(prediction, Arg(y, label.where())), options, prediction.where());
}

Tensor huber_loss(const Arg& prediction, const Arg& label, const HuberOptions& options) {
  check("huber_loss", prediction, label);
  check_positive("huber_loss", "delta", options.delta);
  const Location where = prediction.where();
  const Tensor difference = prediction - Arg(shaped(label, prediction->shape()), label.where());
  return reduced("huber_loss", huber(Arg(difference, where), options.delta), options, where);
}

Tensor binary_cross_entropy(const Arg& logits, const Arg& labels, const BinaryCrossEntropyOptions& options) {
  constexpr const char* name = "binary_cross_entropy";
  check(name, logits, labels);
  const Location where = logits.where();
  const Tensor label = shaped(labels, logits->shape());
  const Arg y(label, labels.where());
  Tensor losses = logistic_loss(logits, y);
  if (options.positive_weight.defined()) {
    // -p y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), where -log(sigmoid(x)) is softplus(-x).
    const Tensor& weight = checked_option(name, "positive_weight", options.positive_weight, losses.shape());
    const Tensor more = Arg(Arg(weight, where) - 1, where) * y;
    const Tensor of_positive = softplus(Arg(-logits, where));
    losses = Arg(losses, where) + Arg(Arg(more, where) * Arg(of_positive, where), where);
  }
  return reduced(name, std::move(losses), options, where);
}

Tensor kl_divergence(const Arg& log_prediction, const Arg& probabilities, const LossOptions& options) {
  check("kl_divergence", log_prediction, probabilities);
  const Tensor p = shaped(probabilities, log_prediction->shape());
  return reduced("kl_divergence", divergence(log_prediction, Arg(p, probabilities.where())), options,
                 log_prediction.where());
}

namespace {

// The losses of classes, by logits or by the logarithms of probabilities.
class ClassLosses {
 public:
  ClassLosses(const char* name, bool of_logits, const Arg& x, const Arg& labels, const CrossEntropyOptions& options)
      : name_(name), of_logits_(of_logits), x_(x), labels_(labels), options_(options), where_(x.where()) {}

  Tensor reduced() {
    const Shape& x = x_->shape();
    if (x.rank() < 2) refuse_shapes();
    classes_ = x[1];
    if (const double share = options_.label_smoothing; !(share >= 0 && share <= 1)) {
      throw_error(name_, fmt::format("label_smoothing must be in [0, 1], got {}", share));
    }
    if (options_.class_weight.defined() && options_.class_weight.shape() != Shape{classes_}) {
      throw_error(name_, fmt::format("class_weight needs the shape ({}), got {}", classes_,
                                     options_.class_weight.shape().str()));
    }
    shape_ = {x[0]};
    for (int axis = 2; axis < x.rank(); ++axis) shape_.append(x[axis]);
    if (of_logits_ && is_floating(labels_->dtype()) && labels_->shape() == x) return of_probabilities();
    return of_indices();
  }

 private:
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  [[noreturn]] void refuse_shapes() const {
    throw_error(
        name_, fmt::format("needs {} (N, C) and labels (N), got {} and {}", of_logits_ ? "logits" : "log_probabilities",
                           x_->shape().str(), labels_->shape().str()));
  }
  // (N, C, ...) -> (M, C)
  Tensor rows_of(const Arg& x) const {
    const Shape& shape = x->shape();
    if (shape.rank() == 2) return x.tensor();
    const Tensor planes = x->reshape({shape[0], classes_, shape.numel(2, shape.rank())}, where_);
    return transpose(at(planes), 1, 2).reshape({shape_.numel(), classes_}, where_);
  }
  Tensor logarithms() const {
    const Tensor rows = rows_of(x_);
    return of_logits_ ? log_softmax(at(rows)) : rows;
  }

  // sum over c of p[c] times the logarithm, with the share of the smoothing in p.
  Tensor of_probabilities() const {
    if (options_.ignore_index) throw_error(name_, "ignore_index is for labels that are indices");
    if (labels_->dtype() != x_->dtype()) {
      throw_error(name_, fmt::format("types differ: logits {}, labels {}", asyncgrad::name(x_->dtype()),
                                     asyncgrad::name(labels_->dtype())));
    }
    Tensor p = rows_of(labels_);
    const double share = options_.label_smoothing;
    if (share > 0) p = at(at(p) * Scalar(1 - share)) + Scalar(share / static_cast<double>(classes_));
    Tensor terms = at(p) * at(logarithms());
    if (options_.class_weight.defined()) terms = at(terms) * at(options_.class_weight);
    return Losses(name_, shaped(at(-at(sum(at(terms), 1))), shape_), where_).reduced(options_.reduction);
  }

  Tensor of_indices() {
    if (labels_->numel() != shape_.numel()) refuse_shapes();
    const DType dtype = labels_->dtype();
    if (dtype != int64 && dtype != int32 && dtype != uint8) {
      throw_error(name_, fmt::format("needs labels of type int64, got {}", asyncgrad::name(dtype)));
    }
    Tensor labels = shaped(labels_, {shape_.numel()});
    if (dtype != int64) labels = labels.to(int64, labels_.where());
    Tensor mask;
    if (options_.ignore_index) {
      mask = at(labels) != Scalar(*options_.ignore_index);
      labels = where(at(mask), at(labels), 0);
    }
    labels = Arg(labels, labels_.where());
    Tensor counts, losses = losses_of(labels, counts);
    if (mask.defined()) {
      losses = where(at(mask), at(losses), 0);
      counts = counts.defined() ? where(at(mask), at(counts), 0) : mask;
    }
    Losses all(name_, shaped(at(losses), shape_), where_);
    if (counts.defined()) all.count(shaped(at(counts), shape_));
    return all.reduced(options_.reduction);
  }

  // (M); `counts` gets what a mean is divided by, unless that is their number.
  Tensor losses_of(const Tensor& labels, Tensor& counts) const {
    const Tensor& weight = options_.class_weight;
    const double share = options_.label_smoothing;
    if (weight.defined()) counts = take(at(weight), at(labels));
    if (of_logits_ && share == 0) {
      const Tensor losses = cross_entropy(at(rows_of(x_)), {labels, labels_.where()});
      return weight.defined() ? at(losses) * at(counts) : losses;
    }
    const Tensor logs = logarithms();
    const Tensor chosen = gather(at(logs), {labels.reshape({labels.numel(), 1}, where_), labels_.where()}, 1);
    Tensor losses = -at(chosen.reshape({labels.numel()}, where_));
    if (weight.defined()) losses = at(losses) * at(counts);
    if (share == 0) return losses;
    const Tensor of_all = weight.defined() ? mean(at(at(logs) * at(weight)), 1) : mean(at(logs), 1);
    return at(at(losses) * Scalar(1 - share)) - at(at(of_all) * Scalar(share));
  }

  const char* name_;
  bool of_logits_;
  const Arg &x_, &labels_;
  const CrossEntropyOptions& options_;
  Location where_;
  std::int64_t classes_ = 0;
  Shape shape_{};  // of the losses
};

}  // namespace

Tensor softmax_cross_entropy(const Arg& logits, const Arg& labels, const CrossEntropyOptions& options) {
  return ClassLosses("softmax_cross_entropy", true, logits, labels, options).reduced();
}

Tensor nll_loss(const Arg& log_probabilities, const Arg& labels, const CrossEntropyOptions& options) {
  if (options.label_smoothing != 0) throw_error("nll_loss", "label_smoothing is for softmax_cross_entropy");
  return ClassLosses("nll_loss", false, log_probabilities, labels, options).reduced();
}

Tensor cosine_similarity(const Arg& x, const Arg& y, const CosineOptions& options) {
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Tensor product = sum(at(x * y), options.axis);
  const Tensor lengths = at(norm(x, options.axis)) * at(norm(y, options.axis));
  return at(product) / at(maximum(at(lengths), Scalar(options.epsilon)));
}

Tensor cosine_loss(const Arg& x, const Arg& y, const Arg& labels, const CosineLossOptions& options) {
  check("cosine_loss", x, y);
  if (x->rank() != 2 || x->shape() != y->shape() || labels->numel() != x->shape()[0]) {
    throw_error("cosine_loss", fmt::format("needs x and y (N, C) and labels (N), got {}, {} and {}", x->shape().str(),
                                           y->shape().str(), labels->shape().str()));
  }
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Tensor cosine = cosine_similarity(x, y);
  const Tensor is_alike = at(shaped(labels, {x->shape()[0]})) == 1;
  const Tensor of_others = maximum(at(at(cosine) - Scalar(options.margin)), 0);
  return reduced("cosine_loss", asyncgrad::where(at(is_alike), at(1 - at(cosine)), at(of_others)), options, where);
}

}  // namespace asyncgrad::nn
