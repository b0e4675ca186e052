#include "asyncgrad/nn/losses.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/ctc.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

// The label in `shape`; queues nothing.
Tensor shaped(const Arg& label, const Shape& shape) {
  return label->shape() == shape ? label.tensor() : label->reshape(shape, label.where());
}

void check_types(const char* loss, const char* x_name, const Arg& x, const char* y_name, const Arg& y) {
  if (x->dtype() == y->dtype()) return;
  const detail::NamedOperand operands[] = {{x_name, *x->impl()}, {y_name, *y->impl()}};
  detail::throw_types_differ(loss, operands, y_name, x->dtype());
}

void check_floating(const char* loss, const char* operand, const Tensor& x) {
  if (is_floating(x.dtype())) return;
  throw_error(loss,
              fmt::format("{} must be of a floating type, got {} {}; {}{} converts it", operand, name(x.dtype()),
                          x.shape().str(), operand, detail::to_str(default_dtype())),
              ErrorKind::type);
}

// Throws Error for a weight of the losses that has not the type of the prediction.
void check_type_of(const char* loss, const char* x_name, const Arg& x, const char* option, const Tensor& weight) {
  if (weight.defined()) check_types(loss, x_name, x, option, Arg(weight, x.where()));
}

void check(const char* loss, const Arg& prediction, const Arg& label) {
  if (!prediction->defined() || !label->defined()) detail::throw_undefined(loss);
  const Shape &x = prediction->shape(), &y = label->shape();
  if (x.rank() == 0) throw_error(loss, "needs a prediction (N, …), got a scalar ()");
  if (x.numel() != y.numel()) {
    throw_error(loss, fmt::format("the numbers of elements differ: prediction {}, label {}; each element of the "
                                  "prediction needs a label",
                                  x.str(), y.str()));
  }
  check_types(loss, "prediction", prediction, "label", label);
}

// Throws Error unless a tensor of the options is broadcast to the shape of the losses.
void check_broadcast(const char* loss, const char* option, const Tensor& given, const Shape& losses) {
  if (!given.defined()) return;
  const Shape& shape = given.shape();
  bool fits = shape.rank() <= losses.rank();
  for (int axis = 1; fits && axis <= shape.rank(); ++axis) {
    fits = shape[shape.rank() - axis] == 1 || shape[shape.rank() - axis] == losses[losses.rank() - axis];
  }
  if (!fits) {
    throw_error(loss, fmt::format("{} {} is not broadcast to the shape of the losses, {}{}", option, shape.str(),
                                  losses.str(), detail::broadcast_rule));
  }
}
// The same for factors of the losses, which need their type, too.
void check_factors(const char* loss, const char* option, const Tensor& given, const Arg& prediction) {
  check_broadcast(loss, option, given, prediction->shape());
  check_type_of(loss, "prediction", prediction, option, given);
}

// Losses, and what becomes of them.
class Losses {
 public:
  Losses(Tensor values, Location where) : values_(std::move(values)), where_(where) {}

  // Means are divided by the sum of these, which are broadcast, in place of the number of losses.
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

  Tensor values_, counts_;
  Location where_;
};

// The losses of the elements of a prediction and a label by a formula, weighted, masked and reduced.
template <class Options, class Formula>
Tensor loss_of(const char* name, const Arg& prediction, const Arg& label, const Options& options, Formula formula) {
  losses_detail::check(name, options);
  check(name, prediction, label);
  check_broadcast(name, "mask", options.mask, prediction->shape());
  check_factors(name, "weight", options.weight, prediction);
  if constexpr (requires { options.positive_weight; }) {
    check_factors(name, "positive_weight", options.positive_weight, prediction);
  }
  const Location where = prediction.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Shape& shape = prediction->shape();
  Tensor x = prediction.tensor(), y = shaped(label, shape);
  // What the mask leaves out is not computed with: it may be NaN, and would make gradients NaN.
  const bool has_mask = options.mask.defined();
  if (has_mask) {
    x = asyncgrad::where(at(options.mask), at(x), 0);
    y = asyncgrad::where(at(options.mask), Arg(y, label.where()), 0);
  }
  Tensor losses = formula(at(x), Arg(y, label.where()));
  if (options.weight.defined()) losses = at(losses) * at(options.weight);
  if (has_mask) losses = asyncgrad::where(at(options.mask), at(losses), 0);
  Losses all(std::move(losses), where);
  if (has_mask) all.count(options.mask);
  return all.reduced(options.reduction);
}

void check_mask(const char* loss, const Tensor& mask) {
  if (!mask.defined() || mask.dtype() == boolean) return;
  throw_error(loss, fmt::format("mask must be of bool, got {}; mask != 0 makes one", name(mask.dtype())),
              ErrorKind::type);
}

// A weight has the type of the losses, which is known when they are computed.
void check_weight(const char* loss, const char* option, const Tensor& weight) {
  if (weight.defined()) check_floating(loss, option, weight);
}

void check_class_weight(const char* loss, const Tensor& weight) {
  if (!weight.defined()) return;
  if (weight.rank() != 1)
    throw_error(loss, fmt::format("class_weight needs the shape (C), got {}", weight.shape().str()));
  check_weight(loss, "class_weight", weight);
}

// The weights of elements and the mask.
template <class Options>
void check_tensors(const char* loss, const Options& options) {
  check_weight(loss, "weight", options.weight);
  check_mask(loss, options.mask);
}

}  // namespace

void losses_detail::check(const char* loss, const LossOptions& options) { check_tensors(loss, options); }
void losses_detail::check(const char* loss, const HuberOptions& options) {
  check_positive(loss, "delta", options.delta);
  check_tensors(loss, options);
}
void losses_detail::check(const char* loss, const BinaryCrossEntropyOptions& options) {
  check_weight(loss, "positive_weight", options.positive_weight);
  check_tensors(loss, options);
}
void losses_detail::check(const char* loss, const CrossEntropyOptions& options) {
  check_share(loss, "label_smoothing", options.label_smoothing);
  check_class_weight(loss, options.class_weight);
}
void losses_detail::check(const char* loss, const NllOptions& options) {
  check_class_weight(loss, options.class_weight);
}
void losses_detail::check(const char* loss, const CtcOptions& options) {
  if (options.blank < 0) throw_error(loss, fmt::format("blank must not be negative, got {}", options.blank));
}
void losses_detail::check(const char* loss, const CosineOptions& options) {
  layer_detail::check_axis(loss, options.axis);
  check_not_negative(loss, "epsilon", options.epsilon);
}
void losses_detail::check(const char* loss, const CosineLossOptions& options) {
  check_finite(loss, "margin", options.margin);
  check_tensors(loss, options);
}

Tensor l2_loss(const Arg& prediction, const Arg& label, const LossOptions& options) {
  return loss_of("l2_loss", prediction, label, options,
                 [](const Arg& x, const Arg& y) { return half_squared_error(x, y); });
}

Tensor squared_error(const Arg& prediction, const Arg& label, const LossOptions& options) {
  return loss_of("squared_error", prediction, label, options, [](const Arg& x, const Arg& y) {
    const Tensor difference = x - y;
    return square(Arg(difference, x.where()));
  });
}

Tensor l1_loss(const Arg& prediction, const Arg& label, const LossOptions& options) {
  return loss_of("l1_loss", prediction, label, options,
                 [](const Arg& x, const Arg& y) { return absolute_error(x, y); });
}

Tensor huber_loss(const Arg& prediction, const Arg& label, const HuberOptions& options) {
  return loss_of("huber_loss", prediction, label, options, [&](const Arg& x, const Arg& y) {
    const Tensor difference = x - y;
    return huber(Arg(difference, x.where()), Scalar(options.delta, x.where()));
  });
}

Tensor binary_cross_entropy(const Arg& logits, const Arg& labels, const BinaryCrossEntropyOptions& options) {
  return loss_of("binary_cross_entropy", logits, labels, options, [&](const Arg& x, const Arg& y) {
    const Tensor& weight = options.positive_weight;
    Tensor losses = logistic_loss(x, y);
    if (!weight.defined()) return losses;
    // -p y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), where -log(sigmoid(x)) is softplus(-x).
    const auto at = [&](const Tensor& tensor) { return Arg(tensor, x.where()); };
    const Tensor more = at(at(weight) - 1) * y;
    const Tensor of_positive = softplus(at(-x));
    return at(losses) + at(at(more) * at(of_positive));
  });
}

Tensor kl_divergence(const Arg& log_prediction, const Arg& probabilities, const LossOptions& options) {
  return loss_of("kl_divergence", log_prediction, probabilities, options,
                 [](const Arg& x, const Arg& p) { return divergence(x, p); });
}

namespace {

// The losses of classes, by logits or by the logarithms of probabilities.
class ClassLosses {
 public:
  ClassLosses(const char* name, bool of_logits, const Arg& x, const Arg& labels, const CrossEntropyOptions& options)
      : name_(name), of_logits_(of_logits), x_(x), labels_(labels), options_(options), where_(x.where()) {}

  Tensor reduced() {
    if (!x_->defined() || !labels_->defined()) detail::throw_undefined(name_);
    const Shape& x = x_->shape();
    if (x.rank() < 2) refuse_shapes();
    classes_ = x[1];
    if (classes_ == 0) throw_error(name_, fmt::format("needs at least one class: {} {}", x_name(), x.str()));
    losses_detail::check(name_, options_);
    if (options_.class_weight.defined() && options_.class_weight.shape() != Shape{classes_}) {
      throw_error(name_, fmt::format("class_weight needs the shape ({}), got {}", classes_,
                                     options_.class_weight.shape().str()));
    }
    check_type_of(name_, x_name(), x_, "class_weight", options_.class_weight);
    shape_ = {x[0]};
    for (int axis = 2; axis < x.rank(); ++axis) shape_.append(x[axis]);
    if (of_logits_ && is_floating(labels_->dtype()) && labels_->shape() == x) return of_probabilities();
    return of_indices();
  }

 private:
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  const char* x_name() const { return of_logits_ ? "logits" : "log_probabilities"; }
  [[noreturn]] void refuse_shapes() const {
    const Shape &x = x_->shape(), &y = labels_->shape();
    // One-hot labels that are integers are no probabilities.
    const std::string hint =
        x.rank() < 2 ? ""
        : x != y     ? "; each row of x needs one label"
        : of_logits_
            ? fmt::format("; {} makes indices of one-hot labels, and labels{} probabilities",
                          detail::in_program("argmax(labels, 1)", "labels.argmax(1)"), detail::to_str(x_->dtype()))
            : "; argmax over the classes makes indices of one-hot labels";
    throw_error(name_, fmt::format("needs {} (N, C) and labels (N), got {} and {} {}{}", x_name(), x.str(),
                                   asyncgrad::name(labels_->dtype()), y.str(), hint));
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
    if (options_.ignore_index)
      throw_error(name_, "ignore_index is for labels (N) that are indices, not for probabilities (N, C)");
    check_types(name_, "logits", x_, "labels", labels_);
    Tensor p = rows_of(labels_);
    const double share = options_.label_smoothing;
    if (share > 0) p = at(at(p) * Scalar(1 - share)) + Scalar(share / static_cast<double>(classes_));
    Tensor terms = at(p) * at(logarithms());
    if (options_.class_weight.defined()) terms = at(terms) * at(options_.class_weight);
    const Tensor losses = -at(sum(at(terms), 1));
    return Losses(shaped(at(losses), shape_), where_).reduced(options_.reduction);
  }

  Tensor of_indices() {
    if (labels_->numel() != shape_.numel()) refuse_shapes();
    const DType dtype = labels_->dtype();
    if (dtype != int64 && dtype != int32 && dtype != uint8) {
      throw_error(name_,
                  fmt::format("needs labels of type int64, got {} {}; labels{} converts them", asyncgrad::name(dtype),
                              labels_->shape().str(), detail::to_str(int64)),
                  ErrorKind::type);
    }
    Tensor labels = shaped(labels_, {shape_.numel()});
    if (dtype != int64) labels = labels.to(int64, labels_.where());
    Tensor mask;
    if (options_.ignore_index) {
      mask = at(labels) != Scalar(*options_.ignore_index);
      labels = where(at(mask), at(labels), 0);
    }
    Tensor factors;  // by the classes of the labels
    Tensor losses = losses_of(labels, factors);
    if (mask.defined()) losses = where(at(mask), at(losses), 0);
    // A mean of all is one of classes; those of single samples are means over their places.
    Tensor counts = mask;
    if (factors.defined() && options_.reduction == Reduction::mean) {
      counts = mask.defined() ? where(at(mask), at(factors), 0) : factors;
    }
    Losses all(shaped(at(losses), shape_), where_);
    if (counts.defined()) all.count(shaped(at(counts), shape_));
    return all.reduced(options_.reduction);
  }

  // (M); `factors` gets those of the labels' classes, if there are any.
  Tensor losses_of(const Tensor& labels, Tensor& factors) const {
    const Tensor& weight = options_.class_weight;
    const double share = options_.label_smoothing;
    if (weight.defined()) factors = take(at(weight), at(labels));
    if (of_logits_ && share == 0) {
      const Tensor losses = cross_entropy(at(rows_of(x_)), {labels, labels_.where()});
      return weight.defined() ? at(losses) * at(factors) : losses;
    }
    const Tensor logs = logarithms();
    const Tensor chosen = gather(at(logs), {labels.reshape({labels.numel(), 1}, where_), labels_.where()}, 1);
    Tensor losses = -at(chosen.reshape({labels.numel()}, where_));
    if (weight.defined()) losses = at(losses) * at(factors);
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

Tensor nll_loss(const Arg& log_probabilities, const Arg& labels, const NllOptions& options) {
  const CrossEntropyOptions classes{
      .reduction = options.reduction, .class_weight = options.class_weight, .ignore_index = options.ignore_index};
  return ClassLosses("nll_loss", false, log_probabilities, labels, classes).reduced();
}

Tensor ctc_loss(const Arg& log_probabilities, const Arg& targets, const Arg& input_lengths, const Arg& target_lengths,
                const CtcOptions& options) {
  losses_detail::check("ctc_loss", options);
  const Location where = log_probabilities.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  Tensor losses = ctc(log_probabilities, targets, input_lengths, target_lengths, options.blank);
  if (options.zero_infinity) {
    const Tensor is_infinite = at(losses) == Scalar(std::numeric_limits<double>::infinity());
    losses = asyncgrad::where(at(is_infinite), 0, at(losses));
  }
  if (options.reduction == Reduction::mean) {
    const Tensor lengths = to(target_lengths, losses.dtype());
    losses = at(losses) / at(maximum(at(lengths), 1));
  }
  return Losses(losses, where).reduced(options.reduction);
}

Tensor cosine_similarity(const Arg& x, const Arg& y, const CosineOptions& options) {
  constexpr const char* name = "cosine_similarity";
  losses_detail::check(name, options);
  for (const auto& [operand, tensor] : {std::pair{"x", &x}, std::pair{"y", &y}}) {
    if (!(*tensor)->defined()) detail::throw_undefined(name);
    check_floating(name, operand, *tensor);
    (*tensor)->shape().checked_axis(options.axis);
  }
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const Tensor product = sum(at(x * y), options.axis);
  const Tensor lengths = at(norm(x, options.axis)) * at(norm(y, options.axis));
  return at(product) / at(maximum(at(lengths), Scalar(options.epsilon)));
}

Tensor cosine_loss(const Arg& x, const Arg& y, const Arg& labels, const CosineLossOptions& options) {
  losses_detail::check("cosine_loss", options);
  if (x->rank() != 2 || x->shape() != y->shape() || labels->numel() != x->shape()[0]) {
    throw_error("cosine_loss", fmt::format("needs x and y (N, C) and labels (N), got {}, {} and {}", x->shape().str(),
                                           y->shape().str(), labels->shape().str()));
  }
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  check_types("cosine_loss", "x", x, "labels", labels);
  const Tensor cosine = cosine_similarity(x, y);
  return loss_of("cosine_loss", at(cosine), labels, options, [&](const Arg& c, const Arg& label) {
    const Tensor is_alike = label == 1;
    const Tensor of_others = maximum(at(c - Scalar(options.margin)), 0);
    return asyncgrad::where(at(is_alike), at(1 - c), at(of_others));
  });
}

}  // namespace asyncgrad::nn
