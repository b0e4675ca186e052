#include "asyncgrad/nn/loss_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::Pair;
using tests::message_of;

Tensor probabilities() { return softmax(arange(0, 6).reshape({2, 3}) / 7); }
Tensor logits() { return arange(0, 6).reshape({2, 3}) / 5 - 0.5; }

TEST(LossLayers, ComputeWhatTheirFunctionsDo) {
  const auto check = [](const auto& layer, const auto& function, const auto& options) {
    const Tensor x = logits(), y = probabilities();
    EXPECT_EQ(layer(x, y).template to_vector<float>(), function(x, y, options).template to_vector<float>());
  };
  const LossOptions mean{.reduction = Reduction::mean};
  check(L2Loss(), l2_loss, LossOptions{});
  check(L2Loss(mean), l2_loss, mean);
  check(SquaredError(mean), squared_error, mean);
  check(L1Loss(mean), l1_loss, mean);
  check(KLDivergence(mean), kl_divergence, mean);
  const HuberOptions huber{.delta = 0.25, .reduction = Reduction::none};
  check(HuberLoss(huber), huber_loss, huber);
  const BinaryCrossEntropyOptions binary{.positive_weight = arange(1, 4)};
  check(BinaryCrossEntropy(binary), binary_cross_entropy, binary);
  const CrossEntropyOptions classes{.class_weight = arange(1, 4), .label_smoothing = 0.25};
  check(SoftmaxCrossEntropy(classes), softmax_cross_entropy, classes);
  const CosineOptions rows{.axis = 0};
  check(CosineSimilarity(rows), cosine_similarity, rows);
}

TEST(LossLayers, TakeIndicesAndThreeTensors) {
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2}), x = logits(), y = probabilities();
  const NllOptions ignoring{.reduction = Reduction::mean, .ignore_index = 0};
  EXPECT_EQ(NLLLoss(ignoring)(x, labels).item(), nll_loss(x, labels, ignoring).item());
  EXPECT_EQ(SoftmaxCrossEntropy()(x, labels).to_vector<float>(), softmax_cross_entropy(x, labels).to_vector<float>());
  const Tensor alike = Tensor::from(std::vector<float>{1, -1}, {2});
  EXPECT_EQ(CosineLoss({.margin = 0.5})(x, y, alike).to_vector<float>(),
            cosine_loss(x, y, alike, {.margin = 0.5}).to_vector<float>());
}

TEST(LossLayers, CTCLossKeepsItsOptions) {
  const auto integers = [](const std::vector<std::int64_t>& values, const Shape& shape) {
    return Tensor::from(values, shape);
  };
  const Tensor x = log_softmax(arange(0, 24).reshape({4, 2, 3}) * 0.1), targets = integers({1, 1, 2, 1}, {2, 2}),
               lengths = integers({4, 3}, {2}), target_lengths = integers({2, 2}, {2});
  const CtcOptions options{.reduction = Reduction::mean, .zero_infinity = true};
  EXPECT_EQ(CTCLoss(options)(x, targets, lengths, target_lengths).item(),
            ctc_loss(x, targets, lengths, target_lengths, options).item());
}

TEST(LossLayers, TheirTensorsAreMembers) {
  const SoftmaxCrossEntropy loss({.class_weight = arange(1, 4)});
  ASSERT_EQ(state(loss).size(), 1U);
  EXPECT_EQ(state(loss)[0].first, "class_weight");
  EXPECT_TRUE(parameters(loss).empty());
  EXPECT_TRUE(state(L2Loss()).empty());
  const SoftmaxCrossEntropy copied = clone(loss);
  EXPECT_NE(copied.options.class_weight.impl(), loss.options.class_weight.impl());
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2});
  EXPECT_EQ(copied(logits(), labels).to_vector<float>(), loss(logits(), labels).to_vector<float>());
  EXPECT_THAT(summary(BinaryCrossEntropy({.positive_weight = ones({3}), .mask = ones({3}) > 0})),
              HasSubstr("BinaryCrossEntropy"));
}

TEST(LossLayers, RefuseTheirOptionsWhenTheyAreMade) {
  const Tensor no_mask = ones({2});
  const auto expect = [](const char* part, const auto& make) { EXPECT_THAT(message_of(make), HasSubstr(part)); };
  expect("[HuberLoss] delta must be positive, got -1", [] { HuberLoss({.delta = -1}); });
  expect("[SoftmaxCrossEntropy] label_smoothing must be in [0, 1], got 2",
         [] { SoftmaxCrossEntropy({.label_smoothing = 2}); });
  expect("[SoftmaxCrossEntropy] class_weight needs the shape (C), got (2, 2)", [] {
    SoftmaxCrossEntropy({.class_weight = ones({2, 2})});
  });
  expect("[NLLLoss] class_weight needs the shape (C), got ()", [] { NLLLoss({.class_weight = ones({})}); });
  expect("[CTCLoss] blank must not be negative, got -3", [] { CTCLoss({.blank = -3}); });
  expect("[CosineSimilarity] there is no axis 6 in a tensor", [] { CosineSimilarity({.axis = 6}); });
  expect("[CosineSimilarity] epsilon must be finite and not negative, got -1",
         [] { CosineSimilarity({.epsilon = -1}); });
  expect("[L2Loss] mask must be of bool, got float32", [&] { L2Loss({.mask = no_mask}); });
  expect("[SquaredError] mask must be of bool", [&] { SquaredError({.mask = no_mask}); });
  expect("[L1Loss] mask must be of bool", [&] { L1Loss({.mask = no_mask}); });
  expect("[KLDivergence] mask must be of bool", [&] { KLDivergence({.mask = no_mask}); });
  expect("[HuberLoss] mask must be of bool", [&] { HuberLoss({.mask = no_mask}); });
  expect("[BinaryCrossEntropy] mask must be of bool", [&] { BinaryCrossEntropy({.mask = no_mask}); });
  expect("[CosineLoss] mask must be of bool", [&] { CosineLoss({.mask = no_mask}); });
}

}  // namespace
}  // namespace asyncgrad::nn
