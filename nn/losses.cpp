#include "asyncgrad/nn/losses.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/ctc.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/layer_options.h"
#include "asyncgrad/nn/loss_parts.h"

namespace asyncgrad::nn {

using losses_detail::Losses;

namespace {

void check_floating(const char* loss, const char* operand, const Tensor& x) {
  if (is_floating(x.dtype())) return;
  throw_error(loss,
              fmt::format("{} must be of a floating type, got {} {}; {}{} converts it", operand, name(x.dtype()),
                          x.shape().str(), operand, detail::to_str(default_dtype())),
              ErrorKind::type);
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
  losses_detail::check_types(loss, "prediction", prediction, "label", label);
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
bool is_number(const Tensor& factor) { return factor.defined() && factor.rank() == 0; }
// The same for factors of the losses, which need their type, too, but for a single number.
void check_factors(const char* loss, const char* option, const Tensor& given, const Arg& prediction) {
  check_broadcast(loss, option, given, prediction->shape());
  if (!is_number(given)) losses_detail::check_type_of(loss, "prediction", prediction, option, given);
}
// A single number takes the type of the losses.
Tensor factor_of(const Tensor& losses, const Tensor& given, Location where) {
  return is_number(given) ? to(Arg(given, where), losses.dtype()) : given;
}

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
  Tensor x = prediction.tensor(), y = losses_detail::shaped(label, shape);
  // What the mask leaves out is not computed with: it may be NaN, and would make gradients NaN.
  const bool has_mask = options.mask.defined();
  if (has_mask) {
    x = asyncgrad::where(at(options.mask), at(x), 0);
    y = asyncgrad::where(at(options.mask), Arg(y, label.where()), 0);
  }
  Tensor losses = formula(at(x), Arg(y, label.where()));
  if (options.weight.defined()) losses = at(losses) * at(factor_of(losses, options.weight, where));
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
  if (weight.defined() && !is_number(weight)) check_floating(loss, option, weight);
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
  check_in_unit_interval(loss, "label_smoothing", options.label_smoothing);
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
    Tensor losses = logistic_loss(x, y);
    if (!options.positive_weight.defined()) return losses;
    const Tensor weight = factor_of(losses, options.positive_weight, x.where());
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
  }
  checked_axis(name, (x->rank() < y->rank() ? y : x)->shape(), options.axis);
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  losses_detail::check_types(name, "x", x, "y", y);
  const Tensor products = x * y;
  const auto length = [&](const Arg& of) {
    if (of->shape() == products.shape()) return norm(of, options.axis);
    return norm(at(expand(of, products.shape())), options.axis);
  };
  const Tensor product = sum(at(products), options.axis), lengths = at(length(x)) * at(length(y));
  return at(product) / at(maximum(at(lengths), Scalar(options.epsilon)));
}

Tensor cosine_loss(const Arg& x, const Arg& y, const Arg& labels, const CosineLossOptions& options) {
  losses_detail::check("cosine_loss", options);
  if (!x->defined() || !y->defined() || !labels->defined()) detail::throw_undefined("cosine_loss");
  if (x->rank() != 2 || x->shape() != y->shape() || labels->numel() != x->shape()[0]) {
    throw_error("cosine_loss", fmt::format("needs x and y (N, C) and labels (N), got {}, {} and {}", x->shape().str(),
                                           y->shape().str(), labels->shape().str()));
  }
  const Location where = x.where();
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  if (!is_floating(labels->dtype())) return cosine_loss(x, y, at(labels->to(x->dtype(), where)), options);
  losses_detail::check_types("cosine_loss", "x", x, "labels", labels);
  const Tensor cosine = cosine_similarity(x, y);
  return loss_of("cosine_loss", at(cosine), labels, options, [&](const Arg& c, const Arg& label) {
    const Tensor is_alike = label == 1;
    const Tensor of_others = maximum(at(c - Scalar(options.margin)), 0);
    return asyncgrad::where(at(is_alike), at(1 - c), at(of_others));
  });
}

}  // namespace asyncgrad::nn
