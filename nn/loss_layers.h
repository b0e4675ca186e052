// The losses of losses.h as layers: each keeps the options of its calls, of which the tensors are its members, so that
// `to` moves them. Formulas, defaults and errors are those of the functions. Constructors throw Error for options that fit
// no tensors, such as a negative delta.
//
//   const nn::HuberLoss loss({.delta = 0.5, .reduction = nn::Reduction::mean});
//   loss(net(x), y).backward();
//
// Calls are queued and may wait for room. Several threads may call the same one at once.
#pragma once

#include <utility>

#include "asyncgrad/nn/losses.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

namespace losses_detail {

// The tensors among the options of a loss.
template <class Options>
void list_tensors(Options& options, Members& m) {
  if constexpr (requires { options.positive_weight; }) m("positive_weight", options.positive_weight);
  if constexpr (requires { options.class_weight; }) m("class_weight", options.class_weight);
  if constexpr (requires { options.weight; }) m("weight", options.weight);
  if constexpr (requires { options.mask; }) m("mask", options.mask);
}

// The options, which are checked.
template <class Options>
Options checked(const char* loss, Options options, Location where) {
  const CallSite site(where);
  check(loss, options);
  return options;
}

// A loss of two tensors, which are called as the function calls them.
template <class Options, Tensor (*function)(const Arg&, const Arg&, const Options&)>
struct LossOfTwo {
  Tensor operator()(const Arg& prediction, const Arg& label) const { return function(prediction, label, options); }
  void members(Members& m) { list_tensors(options, m); }

  Options options;
};

}  // namespace losses_detail

struct L2Loss : losses_detail::LossOfTwo<LossOptions, l2_loss> {
  explicit L2Loss(LossOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("L2Loss", std::move(chosen), where)} {}
};
struct SquaredError : losses_detail::LossOfTwo<LossOptions, squared_error> {
  explicit SquaredError(LossOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("SquaredError", std::move(chosen), where)} {}
};
struct L1Loss : losses_detail::LossOfTwo<LossOptions, l1_loss> {
  explicit L1Loss(LossOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("L1Loss", std::move(chosen), where)} {}
};
struct HuberLoss : losses_detail::LossOfTwo<HuberOptions, huber_loss> {
  explicit HuberLoss(HuberOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("HuberLoss", std::move(chosen), where)} {}
};
struct BinaryCrossEntropy : losses_detail::LossOfTwo<BinaryCrossEntropyOptions, binary_cross_entropy> {
  explicit BinaryCrossEntropy(BinaryCrossEntropyOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("BinaryCrossEntropy", std::move(chosen), where)} {}
};
struct KLDivergence : losses_detail::LossOfTwo<LossOptions, kl_divergence> {
  explicit KLDivergence(LossOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("KLDivergence", std::move(chosen), where)} {}
};
struct SoftmaxCrossEntropy : losses_detail::LossOfTwo<CrossEntropyOptions, softmax_cross_entropy> {
  explicit SoftmaxCrossEntropy(CrossEntropyOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("SoftmaxCrossEntropy", std::move(chosen), where)} {}
};
struct NLLLoss : losses_detail::LossOfTwo<NllOptions, nll_loss> {
  explicit NLLLoss(NllOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("NLLLoss", std::move(chosen), where)} {}
};
struct CTCLoss {
  explicit CTCLoss(CtcOptions chosen = {}, Location where = Location::current())
      : options(losses_detail::checked("CTCLoss", chosen, where)) {}
  Tensor operator()(const Arg& log_probabilities, const Arg& targets, const Arg& input_lengths,
                    const Arg& target_lengths) const {
    return ctc_loss(log_probabilities, targets, input_lengths, target_lengths, options);
  }
  void members(Members& m) { losses_detail::list_tensors(options, m); }

  CtcOptions options;
};
struct CosineSimilarity : losses_detail::LossOfTwo<CosineOptions, cosine_similarity> {
  explicit CosineSimilarity(CosineOptions chosen = {}, Location where = Location::current())
      : LossOfTwo{losses_detail::checked("CosineSimilarity", chosen, where)} {}
};
struct CosineLoss {
  explicit CosineLoss(CosineLossOptions chosen = {}, Location where = Location::current())
      : options(losses_detail::checked("CosineLoss", std::move(chosen), where)) {}
  Tensor operator()(const Arg& x, const Arg& y, const Arg& labels) const { return cosine_loss(x, y, labels, options); }
  void members(Members& m) { losses_detail::list_tensors(options, m); }

  CosineLossOptions options;
};

}  // namespace asyncgrad::nn
