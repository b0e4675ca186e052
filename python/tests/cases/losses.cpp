// Losses, as functions and as layers.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

void loss_layers() {
  const std::string two = "input((2, 3)), input((2, 3)) * 2";
  const auto loss = [&](const std::string& python, const auto& made) {
    layer_with(
        "nn." + python, two, [&] { return made; }, input({2, 3}), input({2, 3}) * 2);
  };
  constexpr nn::Reduction mean = nn::Reduction::mean;
  loss("L2Loss()", nn::L2Loss());
  loss("SquaredError(reduction='mean')", nn::SquaredError({.reduction = mean}));
  loss("L1Loss(weight=input((3,)))", nn::L1Loss({.weight = input({3})}));
  loss("HuberLoss(delta=0.25, reduction='mean')", nn::HuberLoss({.delta = 0.25, .reduction = mean}));
  refused("nn.HuberLoss(delta=0)", [] { return nn::HuberLoss({.delta = 0}); });
  refused("nn.CTCLoss(blank=-3)", [] { return nn::CTCLoss({.blank = -3}); });
  loss("BinaryCrossEntropy(positive_weight=input((3,)))", nn::BinaryCrossEntropy({.positive_weight = input({3})}));
  loss("KLDivergence(reduction='sum')", nn::KLDivergence({.reduction = nn::Reduction::sum}));
  loss("SoftmaxCrossEntropy(label_smoothing=0.5, class_weight=input((3,)))",
       nn::SoftmaxCrossEntropy({.class_weight = input({3}), .label_smoothing = 0.5}));
  loss("CosineSimilarity(axis=0)", nn::CosineSimilarity({.axis = 0}));
  layer_with(
      "nn.NLLLoss(ignore_index=0)", "input((2, 3)), ag.array([2, 0])", [] { return nn::NLLLoss({.ignore_index = 0}); },
      input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2}));
  const ag::Tensor targets = ag::Tensor::from(std::vector<std::int64_t>{1, 1, 2, 1}, {2, 2}),
                   lengths = ag::Tensor::from(std::vector<std::int64_t>{4, 3}, {2}),
                   target_lengths = ag::Tensor::from(std::vector<std::int64_t>{2, 2}, {2});
  layer_with(
      "nn.CTCLoss(reduction='mean')",
      "input((4, 2, 3)), ag.array([[1, 1], [2, 1]]), ag.array([4, 3]), ag.array([2, 2])",
      [] { return nn::CTCLoss({.reduction = mean}); }, input({4, 2, 3}), targets, lengths, target_lengths);
  layer_with(
      "nn.CosineLoss(margin=0.5)", two + ", ag.array([1.0, -1.0])", [] { return nn::CosineLoss({.margin = 0.5}); },
      input({2, 3}), input({2, 3}) * 2, ag::Tensor::from(std::vector<float>{1, -1}, {2}));
}

// The loss with the options that it has by default.
std::function<ag::Tensor(const ag::Tensor&, const ag::Tensor&)> defaulted(ag::Tensor (*function)(const ag::Arg&,
                                                                                                 const ag::Arg&)) {
  return [=](const ag::Tensor& x, const ag::Tensor& y) { return function(x, y); };
}
template <class Options>
std::function<ag::Tensor(const ag::Tensor&, const ag::Tensor&)> defaulted(ag::Tensor (*function)(const ag::Arg&,
                                                                                                 const ag::Arg&,
                                                                                                 const Options&)) {
  return [=](const ag::Tensor& x, const ag::Tensor& y) { return function(x, y, {}); };
}
void functions() {
  const auto loss = [](const char* name, auto* of) {
    const auto function = defaulted(of);
    value(std::string("nn.") + name + "(input((2, 3)), input((2, 3)) * 2)", [=] {
      return hex(function(input({2, 3}), input({2, 3}) * 2));
    });
    value(std::string("nn.") + name + "(input((2, 3)), input((3, 3)))", [=] {
      return hex(function(input({2, 3}), input({3, 3})));
    });
  };
  loss("l2_loss", nn::l2_loss);
  loss("squared_error", nn::squared_error);
  loss("half_squared_error", ag::half_squared_error);
  loss("softmax_cross_entropy", nn::softmax_cross_entropy);
  loss("l1_loss", nn::l1_loss);
  loss("huber_loss", nn::huber_loss);
  loss("binary_cross_entropy", nn::binary_cross_entropy);
  loss("kl_divergence", nn::kl_divergence);
  loss("nll_loss", nn::nll_loss);
  const std::string two = "(input((2, 3)), input((2, 3)) * 2, ";
  const auto with = [&](const std::string& name, const std::string& options, const auto& function, const auto& chosen) {
    value("nn." + name + two + options + ")", [&] { return hex(function(input({2, 3}), input({2, 3}) * 2, chosen)); });
  };
  with("huber_loss", "delta=0.25, reduction='mean'", nn::huber_loss,
       nn::HuberOptions{.delta = 0.25, .reduction = nn::Reduction::mean});
  with("huber_loss", "delta=-1", nn::huber_loss, nn::HuberOptions{.delta = -1});
  with("l1_loss", "reduction='none', weight=input((3,))", nn::l1_loss,
       nn::LossOptions{.reduction = nn::Reduction::none, .weight = input({3})});
  with("l2_loss", "reduction='sum', mask=input((2, 1)) > -1", nn::l2_loss,
       nn::LossOptions{.reduction = nn::Reduction::sum, .mask = input({2, 1}) > -1});
  with("squared_error", "mask=input((3, 3))", nn::squared_error, nn::LossOptions{.mask = input({3, 3})});
  with("squared_error", "weight=input((3, 3))", nn::squared_error, nn::LossOptions{.weight = input({3, 3})});
  with("softmax_cross_entropy", "label_smoothing=0.5, reduction='mean'", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.reduction = nn::Reduction::mean, .label_smoothing = 0.5});
  with("softmax_cross_entropy", "label_smoothing=2", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.label_smoothing = 2});
  with("softmax_cross_entropy", "ignore_index=0", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.ignore_index = 0});
  with("softmax_cross_entropy", "class_weight=input((2,))", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.class_weight = input({2})});
  value("nn.nll_loss(input((2, 3)), ag.array([2, 0]), reduction='mean', ignore_index=0)", [] {
    return hex(nn::nll_loss(input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2}),
                            {.reduction = nn::Reduction::mean, .ignore_index = 0}));
  });
  const auto integers = [](const std::vector<std::int64_t>& values, const ag::Shape& shape) {
    return ag::Tensor::from(values, shape);
  };
  const auto ctc = [&](const std::string& options, const nn::CtcOptions& chosen) {
    value(
        "nn.ctc_loss(input((4, 2, 3)), ag.array([[1, 1], [2, 1]]), ag.array([4, 1]), ag.array([2, 2])" + options + ")",
        [&] {
          return hex(nn::ctc_loss(input({4, 2, 3}), integers({1, 1, 2, 1}, {2, 2}), integers({4, 1}, {2}),
                                  integers({2, 2}, {2}), chosen));
        });
  };
  ctc("", {});
  ctc(", reduction='mean', zero_infinity=True", {.reduction = nn::Reduction::mean, .zero_infinity = true});
  ctc(", blank=3", {.blank = 3});
  value("ag.ctc(input((4, 2, 3)), ag.array([[1, 1], [0, 1]]), ag.array([4, 3]), ag.array([2, 2]), blank=2)", [&] {
    return hex(
        ag::ctc(input({4, 2, 3}), integers({1, 1, 0, 1}, {2, 2}), integers({4, 3}, {2}), integers({2, 2}, {2}), 2));
  });
  value("nn.cosine_similarity(input((2, 3)), input((2, 3)) * 2, axis=0)", [] {
    return hex(nn::cosine_similarity(input({2, 3}), input({2, 3}) * 2, {.axis = 0}));
  });
  value("nn.cosine_loss(input((2, 3)), input((2, 3)) * 2, ag.array([1.0, -1.0]), margin=0.5)", [] {
    return hex(nn::cosine_loss(input({2, 3}), input({2, 3}) * 2, ag::Tensor::from(std::vector<float>{1, -1}, {2}),
                               {.margin = 0.5}));
  });
  value("nn.softmax_cross_entropy(logits=input((2, 3)), labels=ag.array([2, 0]))", [] {
    return hex(nn::softmax_cross_entropy(input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2})));
  });
}

void all_defaults() {
  for (const char* name : {"nn.l2_loss", "nn.L2Loss", "nn.squared_error", "nn.SquaredError", "nn.l1_loss", "nn.L1Loss",
                           "nn.kl_divergence", "nn.KLDivergence"}) {
    defaults(name, {{"reduction", nn::LossOptions{}.reduction}});
  }
  const auto of_loss = [](const char* function, const char* layer, const std::vector<Default>& all) {
    for (const char* name : {function, layer}) defaults(name, all);
  };
  const nn::HuberOptions huber;
  of_loss("nn.huber_loss", "nn.HuberLoss", {{"reduction", huber.reduction}, {"delta", huber.delta}});
  of_loss("nn.binary_cross_entropy", "nn.BinaryCrossEntropy",
          {{"reduction", nn::BinaryCrossEntropyOptions{}.reduction}});
  const nn::CrossEntropyOptions classes;
  of_loss("nn.softmax_cross_entropy", "nn.SoftmaxCrossEntropy",
          {{"reduction", classes.reduction}, {"label_smoothing", classes.label_smoothing}});
  of_loss("nn.nll_loss", "nn.NLLLoss", {{"reduction", classes.reduction}});
  const nn::CtcOptions ctc;
  of_loss("nn.ctc_loss", "nn.CTCLoss",
          {{"reduction", ctc.reduction}, {"blank", ctc.blank}, {"zero_infinity", ctc.zero_infinity}});
  of_loss("nn.cosine_similarity", "nn.CosineSimilarity",
          {{"axis", nn::CosineOptions{}.axis}, {"epsilon", nn::CosineOptions{}.epsilon}});
  const nn::CosineLossOptions cosine;
  of_loss("nn.cosine_loss", "nn.CosineLoss", {{"reduction", cosine.reduction}, {"margin", cosine.margin}});
}

}  // namespace

void losses() {
  loss_layers();
  functions();
  all_defaults();
}

}  // namespace cases
