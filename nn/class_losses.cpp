// The losses of classes: softmax_cross_entropy and nll_loss.
#include <fmt/format.h>

#include <string>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/softmax.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/loss_parts.h"
#include "asyncgrad/nn/losses.h"

namespace asyncgrad::nn {

using losses_detail::Losses;

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
    losses_detail::check_type_of(name_, x_name(), x_, "class_weight", options_.class_weight);
    shape_ = {x[0]};
    for (int axis = 2; axis < x.rank(); ++axis) shape_.append(x[axis]);
    if (of_logits_ && is_floating(labels_->dtype()) && labels_->shape() == x) return of_probabilities();
    return of_indices();
  }

 private:
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  const char* x_name() const { return of_logits_ ? "logits" : "log_probabilities"; }
  [[noreturn]] void refuse_shapes() const {
    throw_error(name_, fmt::format("needs {} (N, C) and labels (N), got {} and {} {}{}", x_name(), x_->shape().str(),
                                   asyncgrad::name(labels_->dtype()), labels_->shape().str(), hint_for_shapes()));
  }
  std::string hint_for_shapes() const {
    const Shape &x = x_->shape(), &y = labels_->shape();
    if (x.rank() < 2) return "";
    if (x.rank() > 2 && y == Shape(std::span(x.begin(), x.end() - 1))) {
      return fmt::format("; the classes are axis 1, and with {}.reshape({}) and labels.reshape({}) the last axis",
                         x_name(), detail::in_program(fmt::format("{{-1, {}}}", x[-1]), fmt::format("(-1, {})", x[-1])),
                         detail::in_program("{-1}", "-1"));
    }
    if (x != y) return "; each row of x needs one label";
    // One-hot labels that are integers are no probabilities.
    if (!of_logits_) return "; argmax over the classes makes indices of one-hot labels";
    return fmt::format("; {} makes indices of one-hot labels, and labels{} probabilities",
                       detail::in_program("argmax(labels, 1)", "labels.argmax(1)"), detail::to_str(x_->dtype()));
  }
  // Whether the labels are in the order of the losses: a list, or with these axes, but for some of 1.
  bool has_axes_of_losses() const {
    const auto longer_axes = [](const Shape& shape) {
      Shape longer;
      for (const std::int64_t extent : shape) {
        if (extent != 1) longer.append(extent);
      }
      return longer;
    };
    const Shape labels = longer_axes(labels_->shape());
    return labels.rank() <= 1 || shape_.rank() == 1 || labels == longer_axes(shape_);
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
    losses_detail::check_types(name_, "logits", x_, "labels", labels_);
    Tensor p = rows_of(labels_);
    const double share = options_.label_smoothing;
    if (share > 0) p = at(at(p) * Scalar(1 - share)) + Scalar(share / static_cast<double>(classes_));
    Tensor terms = at(p) * at(logarithms());
    if (options_.class_weight.defined()) terms = at(terms) * at(options_.class_weight);
    const Tensor losses = -at(sum(at(terms), 1));
    return Losses(losses_detail::shaped(at(losses), shape_), where_).reduced(options_.reduction);
  }

  Tensor of_indices() {
    if (labels_->numel() != shape_.numel() || !has_axes_of_losses()) refuse_shapes();
    const DType dtype = labels_->dtype();
    if (dtype != int64 && dtype != int32 && dtype != uint8) {
      throw_error(name_,
                  fmt::format("needs labels of type int64, got {} {}; labels{} converts them", asyncgrad::name(dtype),
                              labels_->shape().str(), detail::to_str(int64)),
                  ErrorKind::type);
    }
    Tensor labels = losses_detail::shaped(labels_, {shape_.numel()});
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
    Losses all(losses_detail::shaped(at(losses), shape_), where_);
    if (counts.defined()) all.count(losses_detail::shaped(at(counts), shape_));
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

}  // namespace asyncgrad::nn
