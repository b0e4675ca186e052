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

struct Case {
  const char* name;
  Loss loss;
  double (*error)(double);
};
const Case cases[] = {
    {"l2_loss", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, [](double d) { return d * d / 2; }},
    {"squared_error", [](const Arg& x, const Arg& y) { return squared_error(x, y); }, [](double d) { return d * d; }},
    {"l1_loss", [](const Arg& x, const Arg& y) { return l1_loss(x, y); }, [](double d) { return std::abs(d); }},
    {"huber_loss", [](const Arg& x, const Arg& y) { return huber_loss(x, y, {.delta = 0.75}); },
     [](double d) { return std::abs(d) <= 0.75 ? d * d / 2 : 0.75 * (std::abs(d) - 0.375); }},
};

TEST(Losses, AreMeansOverEachSample) {
  for (const Case& row : cases) {
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
  for (const Case& row : cases) {
    EXPECT_EQ(row.loss(x, y).to_vector<float>(), row.loss(x, ones({6, 1})).to_vector<float>());
    EXPECT_EQ(row.loss(y, x).shape(), Shape(6));
  }
}

TEST(Losses, NothingIsBroadcast) {
  for (const Case& row : cases) {
    const std::string name = std::string("[") + row.name + "] ";
    EXPECT_EQ(message_of([&] {
                row.loss(ones({6, 2}), ones({6}));
              }),
              name + "the numbers of elements differ: prediction (6, 2), label (6)");
    EXPECT_THAT(message_of([&] { row.loss(ones({6, 1}), ones({1})); }), HasSubstr("prediction (6, 1), label (1)"));
    EXPECT_THAT(message_of([&] { row.loss(ones({6}), ones({})); }), HasSubstr("prediction (6), label ()"));
    EXPECT_EQ(message_of([&] { row.loss(ones({}), ones({})); }),
              name + "needs a prediction with an axis of samples, got a scalar");
    EXPECT_EQ(message_of([&] { row.loss(ones({2}), ones({2}, {.dtype = float64})); }),
              name + "types differ: prediction float32, label float64");
  }
}

TEST(Losses, L2OfOneValueASampleIsOneOperation) {
  const Tensor x = ones({64, 1}), y = zeros({64});
  const auto before = engine_figures().operations;
  l2_loss(x, y);
  EXPECT_EQ(engine_figures().operations - before, 1);
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
            "[softmax_cross_entropy] needs logits (N, C) and labels (N), got (3, 4) and (4)");
  EXPECT_THAT(message_of([&] { softmax_cross_entropy(ones({3, 4}), labels({3, 4})); }), HasSubstr("and (3, 4)"));
  EXPECT_THAT(message_of([&] { softmax_cross_entropy(ones({3}), labels({3})); }), HasSubstr("got (3) and (3)"));
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy(ones({3, 4}), ones({3}));
            }),
            "[softmax_cross_entropy] needs labels of type int64, got float32");
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
