#include "asyncgrad/nn/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/listed_layers.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST(Members, StateNamesEveryTensorByItsPath) {
  EXPECT_THAT(names(state(Block())),
              ElementsAre("first.weight", "second.weight", "dense.weight", "dense.bias", "seen"));
  EXPECT_THAT(names(state(Sequential{Scale(), relu, Block()})),
              ElementsAre("0.weight", "2.first.weight", "2.second.weight", "2.dense.weight", "2.dense.bias", "2.seen"));
}

TEST(Members, StateSharesTheTensors) {
  const Block block;
  EXPECT_EQ(state(block)[0].second.impl(), block.first.weight.impl());
}

TEST(Members, ParametersAreTheTensorsThatWantAGradient) {
  const Block block;
  const std::vector<Tensor> found = parameters(block);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].impl(), block.first.weight.impl());
  EXPECT_EQ(found[3].impl(), block.dense.bias.impl());
}

TEST(Members, ASharedTensorIsOneParameterUnderTwoNames) {
  Block block;
  block.second.weight = block.first.weight;
  EXPECT_EQ(parameters(block).size(), 3u);
  EXPECT_EQ(state(block).size(), 5u);
}

TEST(Members, FunctionsHaveNone) {
  EXPECT_TRUE(parameters(relu).empty());
  EXPECT_TRUE(state([](const Tensor& x) { return x; }).empty());
}

struct TwoNames {
  std::string first, second;
  Tensor a = zeros({1}), b = zeros({1});
  void members(Members& m) {
    m(first, a);
    m(second, b);
  }
};

TEST(Members, NamesAreCheckedAndUnique) {
  EXPECT_THAT(message_of([] { state(TwoNames{.first = "a", .second = "a"}); }),
              HasSubstr("two members are called \"a\""));
  EXPECT_THAT(message_of([] { state(TwoNames{.first = "", .second = "b"}); }), HasSubstr("must not be empty"));
  EXPECT_THAT(message_of([] { state(TwoNames{.first = "a.b", .second = "b"}); }), HasSubstr("\"a.b\""));
}

// Clones and summaries come from the same lists.
TEST(Members, NamesAreCheckedInEveryFunction) {
  const TwoNames twice{.first = "a", .second = "a"};
  EXPECT_EQ(message_of([&] { clone(twice); }), "[members] two members are called \"a\"; each needs a name of its own");
  EXPECT_EQ(message_of([&] { summary(twice); }),
            "[members] two members are called \"a\"; each needs a name of its own");
}

TEST(Members, MayBeInListsOptionalsAndBehindSharedPointers) {
  const Kinds kinds;
  EXPECT_THAT(names(state(kinds)),
              ElementsAre("tensors.0", "tensors.2", "scales.0.weight", "scales.1.weight", "some.weight", "some.bias",
                          "pointer.weight", "same.weight", "nested.1.0.weight"));
  EXPECT_EQ(parameters(kinds).size(), 7u);
  EXPECT_EQ(summary(kinds),
            "layer       kind   tensors                  parameters\n"
            "            Kinds                                    0\n"
            "tensors     list   [0 (2)], 2 (3)                    3\n"
            "scales      list                                     0\n"
            "scales.0    Scale  weight (1)                        1\n"
            "scales.1    Scale  weight (1)                        1\n"
            "some        Dense  weight (2, 3), bias (3)           9\n"
            "pointer     Scale  weight (1)                        1\n"
            "same        Scale  weight (1)                        1\n"
            "nested      list                                     0\n"
            "nested.0    list                                     0\n"
            "nested.1    list                                     0\n"
            "nested.1.0  Scale  weight (1)                        1\n"
            "total: 16 parameters, 2 elements in buffers, 72 bytes\n");
}

class ValueNames : public Members::Visitor {
 public:
  void tensor(const std::string&, Tensor&) override {}
  void value(const std::string& path, Value) override { names.push_back(path); }
  std::vector<std::string> names;
};

TEST(Members, ValuesAreListedApart) {
  Kinds kinds;
  ValueNames visitor;
  Members::visit(kinds, visitor);
  EXPECT_THAT(visitor.names, ElementsAre("small", "large", "flag", "rate", "text", "generator"));
}

struct Link {
  std::shared_ptr<Link> next;
  void members(Members& m) { m("next", next); }
};

TEST(Members, ACircleOfPointersIsRefused) {
  Link link;
  link.next = std::make_shared<Link>();
  link.next->next = link.next;
  EXPECT_THAT(message_of([&] { state(link); }), HasSubstr("nested deeper than 1000, or in a circle"));
  EXPECT_THAT(message_of([&] { clone(link); }), HasSubstr("nested deeper than 1000, or in a circle"));
  link.next->next = nullptr;
}

// Looking a tensor or a name up takes the same time however many there are. With a linear search this test would take
// minutes.
TEST(Members, MayBeVeryMany) {
  Sequential net;
  const Scale scale;
  for (int i = 0; i < 100'000; ++i) net.add(Scale{parameter(scale.weight.detach())});
  EXPECT_EQ(parameters(net).size(), 100'000u);
  EXPECT_EQ(state(clone(net)).back().first, "99999.weight");
  EXPECT_THAT(summary(net), HasSubstr("total: 100000 parameters"));
}

// Types that are layers, and types that have to list their members first.
struct WithoutList {
  Tensor weight;
  Tensor operator()(const Tensor& x) const { return x * weight; }
};
struct Empty {
  Tensor operator()(const Tensor& x) const { return x; }
};
constexpr auto lambda = [](const Tensor& x) { return x; };
constexpr auto capturing = [](int n) { return [n](const Tensor& x) { return x * n; }; };
static_assert(Listed<Scale> && Listed<Block> && Listed<Sequential> && Listed<Dense> && Listed<Flatten>);
static_assert(Listed<Empty> && Listed<Activation> && Listed<std::decay_t<decltype(lambda)>>);
static_assert(!Listed<WithoutList> && !Listed<decltype(capturing(1))>);
static_assert(!Listed<std::function<Tensor(const Tensor&)>> && !Listed<float> && !Listed<Tensor*>);

// Stands for an object that says itself what it is.
struct Foreign {
  Tensor weight, bias;
  std::string layer_kind() const { return "Stranger"; }
  void members(Members& m) {
    m("weight", weight);
    m("bias", bias);
  }
  Tensor operator()(const Arg& x) const { return x.tensor(); }
};

TEST(Members, ALayerMaySayItsKind) { EXPECT_THAT(summary(Sequential{Foreign(), relu}), HasSubstr("Stranger")); }

// A frozen parameter stays one, so that it can be thawed and trained, also in a copy. A buffer does not become one.
TEST(Parameters, StayParametersWhileTheyAreFrozen) {
  const Sequential net{Dense(2, 3), BatchNorm(3)};
  const std::size_t count = parameters(net).size();
  for (Tensor& parameter : parameters(net)) parameter.requires_grad_(false);
  Sequential copy = clone(net);
  EXPECT_FALSE(copy(ones({4, 2})).requires_grad());
  std::vector<Tensor> frozen = parameters(copy);
  ASSERT_EQ(frozen.size(), count);
  optim::SGD sgd(frozen, {.lr = 1});
  const std::vector<float> before = frozen[0].to_vector<float>();
  sgd.step();
  EXPECT_EQ(frozen[0].to_vector<float>(), before);
  for (Tensor& parameter : parameters(copy)) parameter.requires_grad_();
  sum(copy.at<Dense>(0)(ones({4, 2}))).backward();
  sgd.step();
  EXPECT_EQ(frozen[0].to_vector<float>()[0], before[0] - 4);
}

TEST(Members, AMemberThatHoldsNothingCanBeBound) {
  struct Bind final : Members::Visitor {
    void tensor(const std::string&, Tensor&) override {}
    void undefined(const std::string& path, Tensor& tensor) override {
      if (path == "0.bias") tensor = ones({3});
    }
  } visitor;
  Sequential net;
  net.add(Foreign());
  Members::visit(net, visitor);
  EXPECT_EQ(state(net).size(), 1u);
  EXPECT_EQ(net.at<Foreign>(0).bias.shape(), Shape(3));
}

}  // namespace
}  // namespace asyncgrad::nn
