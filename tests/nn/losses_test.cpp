#include "asyncgrad/nn/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

using Loss = Tensor (*)(const Arg&, const Arg&);
using Values = std::vector<double>;

// The mean over each sample's elements of `error`, written plainly.
Values reference(const Values& prediction, const Values& label, std::size_t samples, double (*error)(double)) {
  const std::size_t row = prediction.size() / samples;
  Values losses(samples, 0);
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    losses[i / row] += error(prediction[i] - label[i]) / static_cast<double>(row);
  }
  return losses;
}

struct LossCase {
  const char* name;
  Loss loss;
  double (*error)(double);
};
const LossCase loss_cases[] = {
    {"l2_loss", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, [](double d) { return d * d / 2; }},
    {"squared_error", [](const Arg& x, const Arg& y) { return squared_error(x, y); }, [](double d) { return d * d; }},
    {"l1_loss", [](const Arg& x, const Arg& y) { return l1_loss(x, y); }, [](double d) { return std::abs(d); }},
    {"huber_loss", [](const Arg& x, const Arg& y) { return huber_loss(x, y, {.delta = 0.75}); },
     [](double d) { return std::abs(d) <= 0.75 ? d * d / 2 : 0.75 * (std::abs(d) - 0.375); }},
};

TEST(Losses, AreMeansOverEachSample) {
  for (const LossCase& row : loss_cases) {
    for (const Shape& shape : {Shape(12), Shape(12, 1), Shape(4, 3), Shape(2, 3, 2), Shape(1, 12)}) {
      SCOPED_TRACE(row.name + shape.str());
      Generator generator(5);
      const Tensor x = randn(shape, {.dtype = float64, .generator = &generator});
      const Tensor y = randn(shape, {.dtype = float64, .generator = &generator});
      const Tensor loss = row.loss(x, y);
      EXPECT_EQ(loss.shape(), Shape(shape[0]));
      const Values wanted =
          reference(x.to_vector<double>(), y.to_vector<double>(), static_cast<std::size_t>(shape[0]), row.error);
      EXPECT_THAT(loss.to_vector<double>(), Pointwise(DoubleNear(1e-12), wanted));
    }
  }
}

TEST(Losses, ALabelTakesThePredictionsShape) {
  const Tensor x = arange(0, 6).reshape({6, 1}), y = ones({6});
  for (const LossCase& row : loss_cases) {
    EXPECT_EQ(row.loss(x, y).to_vector<float>(), row.loss(x, ones({6, 1})).to_vector<float>());
    EXPECT_EQ(row.loss(y, x).shape(), Shape(6));
  }
}

TEST(Losses, NothingIsBroadcast) {
  for (const LossCase& row : loss_cases) {
    const std::string name = std::string("[") + row.name + "] ";
    EXPECT_EQ(message_of([&] {
                row.loss(ones({6, 2}), ones({6}));
              }),
              name +
                  "the numbers of elements differ: prediction (6, 2), label (6); each element of the prediction needs "
                  "a label");
    EXPECT_THAT(message_of([&] { row.loss(ones({6, 1}), ones({1})); }), HasSubstr("prediction (6, 1), label (1)"));
    EXPECT_THAT(message_of([&] { row.loss(ones({6}), ones({})); }), HasSubstr("prediction (6), label ()"));
    EXPECT_EQ(message_of([&] { row.loss(ones({}), ones({})); }), name + "needs a prediction (N, …), got a scalar ()");
    EXPECT_EQ(message_of([&] { row.loss(ones({2}), ones({2}, {.dtype = float64})); }),
              name + "types differ: prediction float32 (2), label float64 (2); label.to(ag::float32) converts label");
  }
}

TEST(Losses, L2OfOneValueASampleIsOneOperation) {
  const Tensor x = ones({64, 1}), y = zeros({64});
  const auto before = engine_figures().operations;
  l2_loss(x, y);
  EXPECT_EQ(engine_figures().operations - before, 1);
}

Tensor numbers(const Values& values, const Shape& shape) { return Tensor::from(values, shape); }
void expect_losses(const Tensor& losses, const Values& wanted) {
  EXPECT_THAT(losses.to_vector<double>(), Pointwise(DoubleNear(1e-12), wanted));
}
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Losses, AreReducedWeightedAndMasked) {
  const Tensor x = numbers({1, 2, 3, 4, 5, 6}, {2, 3}), y = zeros({2, 3}, {.dtype = float64});
  const Tensor weight = numbers({1, 10, 100}, {3}), mask = numbers({1, 0, 1, 0, 0, 0}, {2, 3}) > 0;
  expect_losses(l1_loss(x, y, {.reduction = Reduction::none}), {1, 2, 3, 4, 5, 6});
  expect_losses(l1_loss(x, y, {.reduction = Reduction::sum}), {21});
  expect_losses(l1_loss(x, y, {.reduction = Reduction::mean}), {3.5});
  expect_losses(l1_loss(x, y, {.weight = weight}), {(1 + 20 + 300) / 3.0, (4 + 50 + 600) / 3.0});
  expect_losses(l1_loss(x, y, {.weight = full({}, 2, {.dtype = int64})}), {4, 10});
  expect_losses(l1_loss(x, y, {.mask = mask}), {2, 0});
  expect_losses(l1_loss(x, y, {.reduction = Reduction::mean, .weight = weight, .mask = mask}), {301 / 2.0});
  expect_losses(l1_loss(x, y, {.reduction = Reduction::none, .mask = mask}), {1, 0, 3, 0, 0, 0});
  EXPECT_EQ(l1_loss(zeros({0, 3}), zeros({0, 3})).shape(), Shape(0));
}

TEST(Losses, WhatAMaskLeavesOutMayBeNaN) {
  for (const auto& [name, loss] :
       {std::pair(
            "l2", +[](const Tensor&x, const Tensor&y, const Tensor&mask) { return l2_loss(x, y, {.mask = mask}); }),
        std::pair(
            "squared",
            +[](const Tensor&x, const Tensor&y, const Tensor&mask) { return squared_error(x, y, {.mask = mask}); }),
        std::pair(
            "huber",
            +[](const Tensor&x, const Tensor&y, const Tensor&mask) { return huber_loss(x, y, {.mask = mask}); }),
        std::pair(
            "binary", +[](const Tensor&x, const Tensor&y,
                          const Tensor&mask) { return binary_cross_entropy(x, y, {.mask = mask}); }),
        std::pair(
            "kl",
            +[](const Tensor&x, const Tensor&y, const Tensor&mask) { return kl_divergence(x, y, {.mask = mask}); })}) {
    SCOPED_TRACE(name);
    const Tensor x = parameter(numbers({1, nan, -2, 3}, {2, 2})), y = parameter(numbers({0.5, 0.5, nan, 0.25}, {2, 2}));
    const Tensor total = sum(loss(x, y, numbers({1, 0, 0, 1}, {2, 2}) > 0));
    total.backward();
    EXPECT_TRUE(std::isfinite(total.item()));
    for (const Tensor& gradient : {x.grad(), y.grad()}) {
      const Values values = gradient.to_vector<double>();
      EXPECT_TRUE(std::isfinite(values[0]) && std::isfinite(values[3]) && values[0] != 0);
      EXPECT_EQ(values[1], 0);
      EXPECT_EQ(values[2], 0);
    }
  }
}

TEST(Losses, OptionsThatDoNotFitThrow) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(message_of([&] { l2_loss(x, x, {.weight = ones({2})}); }),
            "[l2_loss] weight (2) is not broadcast to the shape of the losses, (2, 3); from the last axis on, extents "
            "are to be equal or 1");
  EXPECT_EQ(message_of([&] { l2_loss(x, x, {.mask = ones({3})}); }),
            "[l2_loss] mask must be of bool, got float32; mask != 0 makes one");
  EXPECT_EQ(message_of([&] { huber_loss(x, x, {.delta = 0}); }), "[huber_loss] delta must be positive, got 0");
  EXPECT_THAT(message_of([&] { binary_cross_entropy(x, x, {.positive_weight = ones({4})}); }),
              HasSubstr("positive_weight (4) is not broadcast"));
}

TEST(Losses, BinaryCrossEntropyIsThatOfTheSigmoid) {
  const Values logits{-3, -0.5, 0, 2, 800, -800}, labels{0, 1, 0.25, 1, 1, 0};
  Values plain, weighted;
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = 1 / (1 + std::exp(-logits[i]));
    plain.push_back(-labels[i] * std::log(p) - (1 - labels[i]) * std::log(1 - p));
    weighted.push_back(-3 * labels[i] * std::log(p) - (1 - labels[i]) * std::log(1 - p));
  }
  for (Values* losses : {&plain, &weighted}) losses->insert(losses->end(), 2, 0.0);
  const Tensor x = numbers(logits, {6}), y = numbers(labels, {6});
  expect_losses(binary_cross_entropy(x, y), plain);
  for (const DType dtype : {float64, float32, int64}) {
    expect_losses(binary_cross_entropy(x, y, {.positive_weight = full({}, 3, {.dtype = dtype})}), weighted);
  }
}

TEST(Losses, KlDivergenceIsZeroWhereTheProbabilityIs) {
  const Tensor x = numbers({std::log(0.5), std::log(0.25), std::log(0.25)}, {1, 3});
  const Tensor p = parameter(numbers({0.75, 0, 0.25}, {1, 3}));
  const Tensor total = kl_divergence(x, p, {.reduction = Reduction::sum});
  EXPECT_NEAR(total.item(), 0.75 * std::log(1.5), 1e-12);
  total.backward();
  expect_losses(p.grad(), {std::log(1.5) + 1, 0, 1});
}

TEST(Losses, CosinesOfRows) {
  const Tensor x = numbers({3, 4, 1, 0}, {2, 2}), y = numbers({4, 3, -2, 0}, {2, 2});
  expect_losses(cosine_similarity(x, y), {24.0 / 25, -1});
  expect_losses(cosine_similarity(x, zeros({2, 2}, {.dtype = float64})), {0, 0});
  expect_losses(cosine_loss(x, y, numbers({1, -1}, {2})), {1 - 24.0 / 25, 0});
  expect_losses(cosine_loss(x, y, numbers({-1, -1}, {2}), {.margin = 0.5}), {24.0 / 25 - 0.5, 0});
  // The length of an operand that is broadcast counts each element as often as the product does.
  const Tensor sevenfold = cosine_similarity(numbers({3, 4}, {1, 2}), numbers({1}, {1, 1}));
  expect_losses(sevenfold, {7 / (5 * std::sqrt(2.0))});
  const Tensor beside = numbers({1, 0, 0, 1}, {2, 2});
  expect_losses(cosine_similarity(numbers({3, 4, 1, 0, 4, 3, -2, 0}, {2, 2, 2}), beside, {.axis = 2}),
                {3.0 / 5, 0, 4.0 / 5, 0});
  EXPECT_THAT(message_of([&] { cosine_similarity(x, ones({2, 2})); }), HasSubstr("[cosine_similarity] "));
  EXPECT_EQ(message_of([&] { cosine_loss(x, y, ones({3}, {.dtype = float64})); }),
            "[cosine_loss] needs x and y (N, C) and labels (N), got (2, 2), (2, 2) and (3)");
}

// -log softmax(logits)[c] of a row.
double logarithm(const Values& row, std::size_t c) {
  double total = 0;
  for (const double x : row) total += std::exp(x);
  return std::log(total) - row[c];
}
const Values first_row{1, 2, 3}, second_row{-1, 0.5, 0};
Tensor both_rows() { return numbers({1, 2, 3, -1, 0.5, 0}, {2, 3}); }

// The values are those of PyTorch 2.11, torch.nn.functional.ctc_loss.
TEST(CtcLoss, IsReducedAsByPyTorch) {
  Values numbers;
  for (int i = 0; i < 24; ++i) numbers.push_back((i * 7 % 11) / 4.0);
  const Tensor targets = Tensor::from<std::int64_t>({1, 1, 2, 1}, {2, 2}), lengths = full({2}, 2, {.dtype = int64});
  const auto loss = [&](const Tensor& x, std::int64_t steps, const CtcOptions& options) {
    return ctc_loss(log_softmax(x, 2), targets, Tensor::from<std::int64_t>({4, steps}, {2}), lengths, options);
  };
  const Tensor x = Tensor::from(numbers, {4, 2, 3});
  const auto near = [](double expected) { return DoubleNear(expected, 1e-12); };
  EXPECT_THAT(loss(x, 3, {}).to_vector<double>(), ElementsAre(near(3.3078208071907405), near(3.809964344004825)));
  EXPECT_THAT(loss(x, 3, {.reduction = Reduction::mean}).item(), near(1.7794462877988915));
  EXPECT_THAT(loss(x, 3, {.reduction = Reduction::sum}).item(), near(7.117785151195566));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(loss(x, 1, {.reduction = Reduction::mean}).item(), infinity);
  EXPECT_EQ(loss(x, 1, {}).to_vector<double>()[1], infinity);
  EXPECT_THAT(loss(x, 1, {.reduction = Reduction::mean, .zero_infinity = true}).item(), near(0.8269552017976851));

  const Values of_the_first{0.089885271107, -0.328511829347, 0.23862655824,   -0.180524895218,
                            0.090494322048, 0.09003057317,   -0.224462995476, -0.383018566586,
                            0.607481562062, -0.070228846468, -0.537252715594, 0.607481562062};
  const Tensor leaf = parameter(x.clone());
  loss(leaf, 1, {.reduction = Reduction::sum, .zero_infinity = true}).backward();
  EXPECT_THAT(leaf.grad()(all, 0).clone().to_vector<double>(), Pointwise(DoubleNear(1e-11), of_the_first));
  EXPECT_EQ(sum(abs(leaf.grad()(all, 1))).item(), 0);  // whose loss was infinite
}

TEST(SoftmaxCrossEntropy, WeighsClassesAndIgnoresLabels) {
  const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {2}), weight = numbers({0.5, 1, 4}, {3});
  const double first = logarithm(first_row, 2), second = logarithm(second_row, 0);
  expect_losses(softmax_cross_entropy(both_rows(), labels, {.class_weight = weight}), {4 * first, 0.5 * second});
  expect_losses(softmax_cross_entropy(both_rows(), labels, {.reduction = Reduction::mean, .class_weight = weight}),
                {(4 * first + 0.5 * second) / 4.5});
  expect_losses(softmax_cross_entropy(both_rows(), labels, {.ignore_index = 2}), {0, second});
  expect_losses(softmax_cross_entropy(both_rows(), labels, {.reduction = Reduction::mean, .ignore_index = 2}),
                {second});
  const Tensor beyond = Tensor::from<std::int64_t>({-100, -100}, {2});
  expect_losses(softmax_cross_entropy(both_rows(), beyond, {.reduction = Reduction::mean, .ignore_index = -100}), {0});
  expect_losses(nll_loss(log_softmax(both_rows()), labels, {.class_weight = weight}), {4 * first, 0.5 * second});
  EXPECT_EQ(message_of([&] { softmax_cross_entropy(both_rows(), labels, {.class_weight = ones({2})}); }),
            "[softmax_cross_entropy] class_weight needs the shape (3), got (2)");
  EXPECT_THAT(
      message_of([&] {
        softmax_cross_entropy(ones({2, 4, 3}), zeros({2, 4}, {.dtype = int64}));
      }),
      testing::HasSubstr("the classes are axis 1, and with logits.reshape({-1, 3}) and labels.reshape({-1}) the "
                         "last axis"));
  EXPECT_THAT(message_of([&] {
                softmax_cross_entropy(ones({2, 3, 4}), zeros({4, 2}, {.dtype = int64}));
              }),
              testing::HasSubstr("needs logits (N, C) and labels (N), got (2, 3, 4) and int64 (4, 2)"));
}

TEST(SoftmaxCrossEntropy, SpreadsTheLabelOrTakesProbabilities) {
  const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {2});
  const auto of_all = [](const Values& row) { return logarithm(row, 0) + logarithm(row, 1) + logarithm(row, 2); };
  expect_losses(softmax_cross_entropy(both_rows(), labels, {.label_smoothing = 0.3}),
                {0.7 * logarithm(first_row, 2) + 0.1 * of_all(first_row),
                 0.7 * logarithm(second_row, 0) + 0.1 * of_all(second_row)});
  const Tensor p = numbers({0.5, 0.5, 0, 0, 0, 1}, {2, 3});
  expect_losses(softmax_cross_entropy(both_rows(), p),
                {0.5 * logarithm(first_row, 0) + 0.5 * logarithm(first_row, 1), logarithm(second_row, 2)});
  EXPECT_EQ(message_of([&] { softmax_cross_entropy(both_rows(), p, {.ignore_index = 1}); }),
            "[softmax_cross_entropy] ignore_index is for labels (N) that are indices, not for probabilities (N, C)");
  EXPECT_EQ(message_of([&] { softmax_cross_entropy(both_rows(), labels, {.label_smoothing = 1.5}); }),
            "[softmax_cross_entropy] label_smoothing must be in [0, 1], got 1.5");
}

// (N, C, L) -> (N): the means over the places of each sample.
TEST(SoftmaxCrossEntropy, OfPlanesIsTheMeanOfTheirPlaces) {
  const Tensor planes = both_rows().transpose().reshape({1, 3, 2});
  const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {1, 2});
  const double first = logarithm(first_row, 2), second = logarithm(second_row, 0);
  expect_losses(softmax_cross_entropy(planes, labels), {(first + second) / 2});
  expect_losses(softmax_cross_entropy(planes, labels, {.reduction = Reduction::none}), {first, second});
  expect_losses(softmax_cross_entropy(planes, labels, {.ignore_index = 0}), {first});
}

TEST(SoftmaxCrossEntropy, IsTheLogarithmOfTheProbability) {
  const Values logits{1, 2, 3, -1, 0.5, 1000};
  const Tensor loss = softmax_cross_entropy(Tensor::from(logits, {2, 3}), Tensor::from<std::int64_t>({0, 2}, {2}));
  const double sum = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_THAT(loss.to_vector<double>(), ElementsAre(DoubleNear(2 + std::log(sum), 1e-12), DoubleNear(0, 1e-12)));
}

TEST(SoftmaxCrossEntropy, LabelsMayBeAColumn) {
  const Tensor logits = randn({3, 4}), labels = Tensor::from<std::int64_t>({0, 3, 1}, {3});
  EXPECT_EQ(softmax_cross_entropy(logits, labels.reshape({3, 1})).to_vector<float>(),
            softmax_cross_entropy(logits, labels).to_vector<float>());
}

TEST(SoftmaxCrossEntropy, WhatDoesNotFitThrows) {
  const auto labels = [](const Shape& shape) { return zeros(shape, {.dtype = int64}); };
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy(ones({3, 4}), labels({4}));
            }),
            "[softmax_cross_entropy] needs logits (N, C) and labels (N), got (3, 4) and int64 (4); each row of x needs "
            "one label");
  EXPECT_THAT(message_of([&] {
                softmax_cross_entropy(ones({3, 4}), labels({3, 4}));
              }),
              HasSubstr("and int64 (3, 4); argmax(labels, 1) makes indices of one-hot labels"));
  EXPECT_THAT(message_of([&] { softmax_cross_entropy(ones({3}), labels({3})); }), HasSubstr("got (3) and int64 (3)"));
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy(ones({3, 4}), ones({3}));
            }),
            "[softmax_cross_entropy] needs labels of type int64, got float32 (3); labels.to(ag::int64) converts them");
}

TEST(SoftmaxCrossEntropy, NeedsAClass) {
  const Tensor labels = zeros({2}, {.dtype = int64});
  EXPECT_THAT(message_of([&] {
                softmax_cross_entropy(zeros({2, 0}), labels);
              }),
              HasSubstr("[softmax_cross_entropy] needs at least one class: logits (2, 0)"));
  EXPECT_THAT(message_of([&] {
                softmax_cross_entropy(zeros({2, 0}), zeros({2, 0}));
              }),
              HasSubstr("needs at least one class"));
  EXPECT_THAT(message_of([&] {
                nll_loss(zeros({2, 0}), labels);
              }),
              HasSubstr("[nll_loss] needs at least one class: log_probabilities (2, 0)"));
}

TEST(SoftmaxCrossEntropy, ALabelOutsideSurfacesAtTheWait) {
  for (const std::int64_t label : {-1, 4}) {
    EXPECT_THAT(message_of([&] {
                  softmax_cross_entropy(ones({2, 4}), Tensor::from<std::int64_t>({0, label}, {2})).wait();
                }),
                HasSubstr("cross_entropy"));
  }
  recover();
}

}  // namespace
}  // namespace asyncgrad::nn
