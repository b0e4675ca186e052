// Losses. Each gives one value for each sample unless its options say otherwise; for training take the mean:
//
//   mean(nn::l2_loss(net(x), y)).backward();
//   nn::huber_loss(net(x), y, {.reduction = nn::Reduction::mean, .mask = is_known}).backward();
//
// All are differentiable in every input that is no index, are queued, and may wait for room. A label with as many
// elements as the prediction takes the prediction's shape; any other label throws Error, and nothing is broadcast. Types
// or devices that differ throw Error, too.
#pragma once

#include <cstdint>
#include <optional>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// What becomes of the losses of all elements: the mean over all axes but the first, (N, ...) -> (N); the losses
// themselves; their mean or their sum, a scalar.
enum class Reduction : std::uint8_t { samples, none, mean, sum };

struct LossOptions {
  Reduction reduction = Reduction::samples;
  Tensor weight{};  // factors of the losses, of the prediction's type, broadcast to their shape; or one, of any type
  // Bool, broadcast to the shape of the losses. A loss where it is false is 0 whatever prediction and label are, NaN
  // included, and does not count in a mean; a mean without any loss is 0.
  Tensor mask{};
};

// (prediction - label)^2 / 2
Tensor l2_loss(const Arg& prediction, const Arg& label, const LossOptions& options = {});
// (prediction - label)^2
Tensor squared_error(const Arg& prediction, const Arg& label, const LossOptions& options = {});
// |prediction - label|; its gradient is 0 where they are equal.
Tensor l1_loss(const Arg& prediction, const Arg& label, const LossOptions& options = {});

struct HuberOptions {
  double delta = 1;
  Reduction reduction = Reduction::samples;
  Tensor weight{}, mask{};  // as in LossOptions
};
// With d = prediction - label: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2) (Huber 1964). Throws Error
// unless delta is positive.
Tensor huber_loss(const Arg& prediction, const Arg& label, const HuberOptions& options = {});

struct BinaryCrossEntropyOptions {
  Tensor positive_weight{};  // factors of the losses of positive labels, as `weight`
  Reduction reduction = Reduction::samples;
  Tensor weight{}, mask{};  // as in LossOptions
};
// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) of logits x and labels y, which are probabilities, or 0 and 1.
// Nothing overflows.
Tensor binary_cross_entropy(const Arg& logits, const Arg& labels, const BinaryCrossEntropyOptions& options = {});

// The divergence of Kullback and Leibler from a prediction, of which it takes the logarithms, to probabilities p:
// p (log p - log_prediction), and 0 where p is 0. Of distributions over the last axis the sum over that axis counts:
// sum(kl_divergence(x, p, {.reduction = Reduction::none}), -1).
Tensor kl_divergence(const Arg& log_prediction, const Arg& probabilities, const LossOptions& options = {});

struct CrossEntropyOptions {
  Reduction reduction = Reduction::samples;
  // (C), of the logits' type: factors of the losses by their class. Reduction::mean divides by the sum of the factors
  // of the labels' classes. With probabilities they are factors of the terms, and the mean is that of the losses.
  Tensor class_weight{};
  double label_smoothing = 0;  // the share of the label that is spread over all classes evenly, in [0, 1]
  std::optional<std::int64_t> ignore_index{};  // such a label has the loss 0, and does not count in a mean
};
// -log softmax(logits)[label]: logits (N, C) or (N, C, ...), labels (N) or (N, ...) in int64, int32 or uint8. With
// labels of the logits' shape and type, which are probabilities p: -sum over c of p[c] log softmax(logits)[c]; an
// ignore_index then throws Error. The values of labels are known later, so the wait throws Error for a label outside of
// [0, C). On a GPU the row's loss and gradient are NaN instead. (Label smoothing: Szegedy et al. 2016, "Rethinking the
// Inception Architecture for Computer Vision"; with class weights in the form of PyTorch.)
Tensor softmax_cross_entropy(const Arg& logits, const Arg& labels, const CrossEntropyOptions& options = {});
struct NllOptions {
  Reduction reduction = Reduction::samples;
  Tensor class_weight{};                       // as in CrossEntropyOptions
  std::optional<std::int64_t> ignore_index{};  // the same
};
// -log_probabilities[label]: softmax_cross_entropy of what log_softmax() gives. Throws Error for labels that are
// probabilities.
Tensor nll_loss(const Arg& log_probabilities, const Arg& labels, const NllOptions& options = {});

struct CtcOptions {
  // Reduction::mean divides each loss by the length of its target, at least 1, as PyTorch does.
  Reduction reduction = Reduction::samples;
  std::int64_t blank = 0;      // the class
  bool zero_infinity = false;  // a sequence with too few steps for its target counts 0, and has no gradient
};
// Of sequences whose labels are not aligned with their steps, see ctc() in autograd/ctc.h: log_probabilities (T, N, C),
// targets (N, S), input_lengths (N) and target_lengths (N) -> (N).
Tensor ctc_loss(const Arg& log_probabilities, const Arg& targets, const Arg& input_lengths, const Arg& target_lengths,
                const CtcOptions& options = {});

struct CosineOptions {
  int axis = 1;
  double epsilon = 1e-8;
};
// x y / max(|x| |y|, epsilon) along an axis of both, which is dropped. x and y broadcast against each other. Throws Error
// unless epsilon is finite and not negative.
Tensor cosine_similarity(const Arg& x, const Arg& y, const CosineOptions& options = {});
struct CosineLossOptions {
  double margin = 0;
  Reduction reduction = Reduction::samples;
  Tensor weight{}, mask{};  // as in LossOptions
};
// With the cosine c of rows x and y, (N, C), and labels (N) of their type, integers or bools: 1 - c where the label is 1,
// max(0, c - margin) where it is another, such as -1. The labels are constants.
Tensor cosine_loss(const Arg& x, const Arg& y, const Arg& labels, const CosineLossOptions& options = {});

// Throw Error, naming the loss, for options that fit no tensors. Each function above calls its own; so do the layers of
// loss_layers.h when they are made.
namespace losses_detail {

void check(const char* loss, const LossOptions& options);
void check(const char* loss, const HuberOptions& options);
void check(const char* loss, const BinaryCrossEntropyOptions& options);
void check(const char* loss, const CrossEntropyOptions& options);
void check(const char* loss, const NllOptions& options);
void check(const char* loss, const CtcOptions& options);
void check(const char* loss, const CosineOptions& options);
void check(const char* loss, const CosineLossOptions& options);

}  // namespace losses_detail

}  // namespace asyncgrad::nn
