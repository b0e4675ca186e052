#include "asyncgrad/nn/sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/scale.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

Tensor twice(const Arg& x) { return x * 2; }

TEST(Sequential, CallsItsLayersInOrder) {
  const Sequential net{[](const Tensor& x) { return x + 1; }, twice, [](Tensor x) { return x - 3; }};
  EXPECT_EQ(net.size(), 3u);
  EXPECT_THAT(net(Tensor::from({1.0f, 2.0f}, {2})).to_vector<float>(), ElementsAre(1, 3));
}

TEST(Sequential, WithoutLayersIsTheIdentity) {
  const Tensor x = ones({2});
  EXPECT_EQ(Sequential()(x).impl(), x.impl());
}

TEST(Sequential, ACopyIsNotNested) {
  Sequential a{Scale(), twice};
  const Sequential& constant = a;
  auto b = a;
  Sequential c{a}, d{constant}, e(a);
  for (const Sequential* copy : {&b, &c, &d, &e}) {
    EXPECT_EQ(copy->size(), 2u);
    EXPECT_EQ(copy->at<Scale>(0).weight.impl(), a.at<Scale>(0).weight.impl());
  }
}

TEST(Sequential, ACopyHasAListOfItsOwn) {
  Sequential a{Scale()};
  Sequential b = a;
  b.add(twice);
  b.at<Scale>(0).weight = parameter(full({1}, 5));
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(a(ones({1})).item(), 1);
  EXPECT_EQ(b(ones({1})).item(), 10);
}

TEST(Sequential, AssigningSharesParameters) {
  Sequential a{Scale()}, b{twice, twice};
  b = a;
  EXPECT_EQ(b.size(), 1u);
  EXPECT_EQ(parameters(b)[0].impl(), parameters(a)[0].impl());
}

TEST(Sequential, AMovedOneIsNotNested) {
  Sequential a{Scale(), twice};
  const Sequential b{std::move(a)};
  EXPECT_EQ(b.size(), 2u);
}

TEST(Sequential, AddNests) {
  const Sequential inner{Scale(), relu};
  Sequential net;
  net.add(inner).add(twice).add(inner);
  EXPECT_EQ(net.size(), 3u);
  EXPECT_EQ(net.at<Sequential>(0).size(), 2u);
  EXPECT_EQ(state(net)[1].first, "2.0.weight");
  EXPECT_EQ(parameters(net).size(), 1u);
  EXPECT_EQ(net(ones({1})).item(), 2);
}

TEST(Sequential, ALayerThatAUserWroteLearns) {
  const Sequential net{Scale(), twice};
  sum(net(full({3}, 5))).backward();
  const std::vector<Tensor> found = parameters(net);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].grad().item(), 30);
}

TEST(Sequential, AtReturnsTheLayerItself) {
  Sequential net{Dense(2, 3), relu, Scale()};
  net.at<Scale>(2).weight = parameter(full({1}, 4));
  EXPECT_EQ(net.at<Scale>(2).weight.item(), 4);
  EXPECT_EQ(net.at<Activation>(1), static_cast<Activation>(relu));
  EXPECT_EQ(std::as_const(net).at<Dense>(0).weight.shape(), Shape(2, 3));
}

TEST(Sequential, AtNamesWhatThereIs) {
  const Sequential net{Dense(2, 3), relu, Scale()};
  EXPECT_EQ(message_of([&] { net.at<Dense>(3); }),
            "[Sequential::at] there is no layer 3 among 3, numbered from 0: Dense, function, Scale");
  EXPECT_EQ(message_of([&] { net.at<Dense>(2); }),
            "[Sequential::at] layer 2 of 3 is not a Dense, but a Scale: Dense, function, Scale");
}

TEST(Sequential, ErrorsNameTheLayer) {
  Sequential net{relu};
  net.add(Sequential{relu, Dense(2, 3)});
  const int line = __LINE__ + 1;
  const std::string message = tests::whole_message_of([&] { net(ones({4, 5})); });
  EXPECT_THAT(message, HasSubstr("[Dense] needs x (…, 2), got (4, 5); weight (2, 3)"));
  EXPECT_THAT(message, HasSubstr("in layer 1.1"));
  EXPECT_THAT(message, HasSubstr("sequential_test.cpp:" + std::to_string(line)));
}

TEST(Sequential, ErrorsOfOperationsAtTheCallNameTheLayer) {
  const Sequential inner{relu, [](const Tensor& x) { return x + ones({5}); }};
  const Sequential net{relu, inner};
  EXPECT_EQ(message_of([&] {
              net(ones({2, 3}));
            }),
            "[add] shapes do not broadcast: x (2, 3), y (5); from the last axis on, extents are to be equal or 1, in "
            "layer 1.1 of Sequential{function, Sequential}");
  EXPECT_EQ(message_of([] { ones({2}) + ones({5}); }),
            "[add] shapes do not broadcast: x (2), y (5); from the last axis on, extents are to be equal or 1");
}

TEST(Sequential, ANullFunctionIsRefused) {
  EXPECT_THAT(message_of([] { Sequential{relu, Activation()}; }), HasSubstr("layer 1 is a null function"));
}

TEST(Sequential, IsNotNestedWithoutEnd) {
  Sequential net{Scale()};
  const auto nest = [&](int levels) {
    for (int i = 0; i < levels; ++i) {
      Sequential outer;
      outer.add(std::move(net));
      net = std::move(outer);
    }
  };
  nest(Members::max_depth - 1);
  EXPECT_EQ(parameters(net).size(), 1u);
  EXPECT_EQ(net(ones({2})).to_vector<float>(), std::vector<float>({1, 1}));
  EXPECT_EQ(state(clone(net)).size(), 1u);
  EXPECT_EQ(message_of([&] { nest(1); }),
            "[Sequential] layers are nested deeper than 1000; put them side by side in one Sequential");
}

// A layer around a Sequential.
struct Stage {
  Sequential body;
  Tensor operator()(const Tensor& x) const { return x + body(x); }
  void members(Members& m) { m("body", body); }
};
Tensor with_five(const Tensor& x) { return x + ones({5}); }

TEST(SequentialPath, IsThatOfTheState) {
  const Stage block{Sequential{Dense(3, 3), with_five}};
  const Sequential net{block, Dense(3, 3)};
  EXPECT_THAT(message_of([&] {
                net(ones({2, 3}));
              }),
              testing::EndsWith("in layer 0.body.1 of Sequential{Stage, Dense}"));
  const Sequential copy = net, outer{Dense(3, 3), net};
  EXPECT_THAT(message_of([&] {
                copy(ones({2, 3}));
              }),
              testing::EndsWith("in layer 0.body.1 of Sequential{Stage, Dense}"));
  EXPECT_THAT(message_of([&] {
                outer(ones({2, 3}));
              }),
              testing::EndsWith("in layer 1.0.body.1 of Sequential{Dense, Sequential}"));
  static_cast<void>(parameters(net));
  EXPECT_THAT(message_of([&] { net(ones({2, 3})); }), testing::EndsWith("in layer 0.body.1"));
}

// A network with two containers, whose layers have the same numbers.
struct Net {
  Sequential features{Dense(3, 3), relu}, classifier{Dense(3, 3), with_five};
  std::shared_ptr<Stage> tail = std::make_shared<Stage>();
  Tensor operator()(const Tensor& x) const { return (*tail)(classifier(features(x))); }
  void members(Members& m) {
    m("features", features);
    m("classifier", classifier);
    m("tail", tail);
  }
};

TEST(SequentialPath, IsToldByWhatListsTheParameters) {
  const Net net;
  static_cast<void>(parameters(net));
  EXPECT_THAT(message_of([&] { net(ones({2, 3})); }), testing::EndsWith("in layer classifier.1"));
  static_cast<void>(parameters(net.classifier));  // a group of its own
  EXPECT_THAT(message_of([&] { net(ones({2, 3})); }), testing::EndsWith("in layer classifier.1"));
}

TEST(SequentialPath, LeadsIntoABlockOfATransformer) {
  const Sequential net{relu, TransformerBlock(4, 2)};
  EXPECT_THAT(message_of([&] { net(ones({2, 3, 4}, {.dtype = float64})); }), HasSubstr("in layer 1.norm1"));
}

}  // namespace
}  // namespace asyncgrad::nn
