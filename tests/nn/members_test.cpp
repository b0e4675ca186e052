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
#include "tests/nn/scale.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

// A buffer, inner layers, and a tensor that may hold nothing.
struct Block {
  Scale first, second;
  Dense dense{2, 3};
  Tensor seen = zeros({4}), absent;
  Activation activation = relu;

  Tensor operator()(const Tensor& x) const { return activation(dense(second(first(x)))); }
  void members(Members& m) {
    m("first", first);
    m("second", second);
    m("dense", dense);
    m("activation", activation);
    m("seen", seen);
    m("absent", absent);
  }
};

std::vector<std::string> names(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::vector<std::string> names;
  for (const auto& entry : state) names.push_back(entry.first);
  return names;
}

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

TEST(Members, ACloneHasTensorsOfItsOwn) {
  Block block;
  const Block copy = clone(block);
  {
    const NoGrad no_grad;
    block.first.weight.fill_(7);
    block.seen.fill_(7);
  }
  EXPECT_EQ(copy.first.weight.item(), 1);
  EXPECT_THAT(copy.seen.to_vector<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(copy.first.weight.requires_grad());
  EXPECT_FALSE(copy.seen.requires_grad());
  EXPECT_EQ(copy.dense.weight.to_vector<float>(), block.dense.weight.to_vector<float>());
}

TEST(Members, AClonedParameterIsALeafWithoutGradient) {
  const Scale scale;
  sum(scale(ones({3}))).backward();
  const Scale copy = clone(scale);
  EXPECT_FALSE(copy.weight.grad().defined());
  sum(copy(ones({5}))).backward();
  EXPECT_EQ(copy.weight.grad().item(), 5);
  EXPECT_EQ(scale.weight.grad().item(), 3);
}

TEST(Members, AClonePreservesWhatIsShared) {
  Block block;
  block.second.weight = block.first.weight;
  const Block copy = clone(block);
  EXPECT_EQ(copy.first.weight.impl(), copy.second.weight.impl());
  EXPECT_NE(copy.first.weight.impl(), block.first.weight.impl());
}

// The CPU in two parts: two devices.
class LayersOnDevices : public testing::Test {
 protected:
  void SetUp() override { set_engine_options({.workers = 2, .cpu_parts = 2}); }
  void TearDown() override { set_engine_options({}); }
};

TEST_F(LayersOnDevices, ALayerIsMovedAsACloneOfItsOwn) {
  Block block;
  block.second.weight = block.first.weight;
  for (const Device device : {"cpu:0", "cpu:1"}) {
    const Block moved = nn::to(block, device);
    const auto before = state(block), after = state(moved);
    ASSERT_EQ(names(after), names(before));
    for (std::size_t i = 0; i < after.size(); ++i) {
      const Tensor &was = before[i].second, &is = after[i].second;
      EXPECT_EQ(is.device(), device);
      EXPECT_NE(is.impl(), was.impl());
      EXPECT_EQ(is.requires_grad(), was.requires_grad());
      EXPECT_EQ(is.to_vector<float>(), was.to_vector<float>());
    }
    EXPECT_EQ(moved.first.weight.impl(), moved.second.weight.impl());
    EXPECT_FALSE(moved.absent.defined());
    sum(moved(ones({4, 2}, {.device = device}))).backward();
    EXPECT_EQ(moved.dense.bias.grad().device(), device);
    EXPECT_FALSE(block.dense.bias.grad().defined());
  }
  EXPECT_EQ(block.dense.weight.device(), Device("cpu:0"));
  EXPECT_EQ(nn::to(Sequential{block, relu}, "cpu:1").at<Block>(0).seen.device(), Device("cpu:1"));
}

TEST_F(LayersOnDevices, AReplicaOnTheSameDeviceIsTheLayer) {
  const Block block;
  const Block same = replica(block, "cpu:0");
  EXPECT_EQ(same.dense.weight.impl(), block.dense.weight.impl());
  EXPECT_EQ(same.seen.impl(), block.seen.impl());
}

TEST_F(LayersOnDevices, AReplicasGradientsComeBack) {
  Block block;
  block.second.weight = block.first.weight;
  const Sequential net{block, Dense(3, 1)};
  const Tensor x = asyncgrad::uniform({8, 2});
  sum(net(x)).backward();
  std::vector<std::vector<float>> expected;
  for (Tensor& parameter : parameters(net)) {
    expected.push_back(parameter.grad().to_vector<float>());
    parameter.zero_grad();
  }

  const Sequential other = replica(net, "cpu:1");
  EXPECT_EQ(names(state(other)), names(state(net)));
  EXPECT_EQ(other.at<Block>(0).first.weight.impl(), other.at<Block>(0).second.weight.impl());
  EXPECT_EQ(other.at<Block>(0).seen.device(), Device("cpu:1"));
  sum(other(x.to("cpu:1"))).backward();
  const std::vector<Tensor> all = parameters(net);
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].grad().device(), Device("cpu:0"));
    EXPECT_EQ(all[i].grad().to_vector<float>(), expected[i]);
  }
  // A second one adds to them.
  sum(replica(net, "cpu:1")(x.to("cpu:1"))).backward();
  EXPECT_EQ(all.back().grad().item(), 2 * expected.back()[0]);
}

TEST_F(LayersOnDevices, AreRefusedWhereThereIsNone) {
  EXPECT_THAT(message_of([] { nn::to(Scale(), "cpu:2"); }), HasSubstr("there is no cpu:2 here"));
  EXPECT_THAT(message_of([] { replica(Scale(), "cpu:2"); }), HasSubstr("there is no cpu:2 here"));
}

TEST(Members, ACopySharesTheTensors) {
  const Block block;
  const Block copy = block;
  EXPECT_EQ(copy.dense.weight.impl(), block.dense.weight.impl());
}

TEST(Members, ASummaryShowsEveryLayerAndTheTotals) {
  Block block;
  block.second.weight = block.first.weight;
  EXPECT_EQ(summary(Sequential{Dense(64, 128, relu), tanh, block}),
            "layer         kind        tensors                       parameters\n"
            "              Sequential                                         0\n"
            "0             Dense       weight (64, 128), bias (128)        8320\n"
            "1             function                                           0\n"
            "2             Block       [seen (4)]                             0\n"
            "2.first       Scale       weight (1)                             1\n"
            "2.second      Scale       weight (1)                             1\n"
            "2.dense       Dense       weight (2, 3), bias (3)                9\n"
            "2.activation  function                                           0\n"
            "total: 8330 parameters, 4 elements in buffers, 33336 bytes\n");
}

struct Named {
  std::string first, second;
  Tensor a = zeros({1}), b = zeros({1});
  void members(Members& m) {
    m(first, a);
    m(second, b);
  }
};

TEST(Members, NamesAreCheckedAndUnique) {
  EXPECT_THAT(message_of([] { state(Named{.first = "a", .second = "a"}); }), HasSubstr("two members are called \"a\""));
  EXPECT_THAT(message_of([] { state(Named{.first = "", .second = "b"}); }), HasSubstr("must not be empty"));
  EXPECT_THAT(message_of([] { state(Named{.first = "a.b", .second = "b"}); }), HasSubstr("\"a.b\""));
}

// Clones and summaries come from the same lists.
TEST(Members, NamesAreCheckedInEveryFunction) {
  const Named twice{.first = "a", .second = "a"};
  EXPECT_EQ(message_of([&] { clone(twice); }), "[members] two members are called \"a\"; each needs a name of its own");
  EXPECT_EQ(message_of([&] { summary(twice); }),
            "[members] two members are called \"a\"; each needs a name of its own");
}

// Members of every kind.
struct Kinds {
  std::vector<Tensor> tensors{ones({2}), Tensor(), parameter(ones({3}))};
  std::array<Scale, 2> scales;
  std::optional<Dense> none, some{Dense(2, 3)};
  std::shared_ptr<Scale> pointer = std::make_shared<Scale>(), same = pointer, null;
  std::vector<std::vector<std::shared_ptr<Scale>>> nested{{}, {std::make_shared<Scale>()}};
  int small = 1;
  std::int64_t large = 2;
  bool flag = true;
  double rate = 0.5;
  std::string text = "text";
  Generator generator;

  void members(Members& m) {
    m("tensors", tensors);
    m("scales", scales);
    m("none", none);
    m("some", some);
    m("pointer", pointer);
    m("same", same);
    m("null", null);
    m("nested", nested);
    m("small", small);
    m("large", large);
    m("flag", flag);
    m("rate", rate);
    m("text", text);
    m("generator", generator);
  }
};

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
  void layer(const std::string&, const std::string&) override {}
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

TEST(Members, ACloneHasObjectsOfItsOwnBehindSharedPointers) {
  const Kinds kinds;
  const std::vector<std::pair<std::string, Tensor>> before = state(kinds);
  const Kinds copy = clone(kinds);
  const auto after = state(kinds), copied = state(copy);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].second.impl(), before[i].second.impl()) << before[i].first;
    EXPECT_NE(copied[i].second.impl(), before[i].second.impl()) << before[i].first;
  }
  EXPECT_NE(copy.pointer, kinds.pointer);
  EXPECT_EQ(copy.pointer, copy.same);
  EXPECT_EQ(copy.pointer->weight.impl(), copy.same->weight.impl());
}

// The list follows the pointer, so that a copy of the layer shares the original's inner layer itself.
struct Hidden {
  std::shared_ptr<Scale> inner = std::make_shared<Scale>();
  Tensor own = ones({1});
  void members(Members& m) {
    m("own", own);
    m("inner", *inner);
  }
};

TEST(Members, ACloneNeverRebindsTheOriginal) {
  const Hidden hidden;
  const auto before = state(hidden);
  EXPECT_THAT(message_of([&] { clone(hidden); }), HasSubstr("\"inner.weight\" is behind a pointer"));
  EXPECT_THAT(message_of([&] { replica(hidden, "cpu:0"); }), HasSubstr("\"inner.weight\" is behind a pointer"));
  const auto after = state(hidden);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].second.impl(), before[i].second.impl());
}

struct Base {
  virtual ~Base() = default;
  Tensor weight = ones({1});
  virtual void members(Members& m) { m("weight", weight); }
};
struct Derived : Base {
  Tensor more = ones({1});
  void members(Members& m) override {
    Base::members(m);
    m("more", more);
  }
};
struct OfBase {
  std::shared_ptr<Base> base = std::make_shared<Derived>();
  void members(Members& m) { m("base", base); }
};

TEST(Members, AnObjectBehindAPointerToItsBaseIsListedAndNotSliced) {
  EXPECT_THAT(names(state(OfBase())), ElementsAre("base.weight", "base.more"));
  EXPECT_THAT(message_of([] { clone(OfBase()); }), HasSubstr("\"base\" leads to a Derived, which cannot be copied"));
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

TEST(Members, AMemberThatHoldsNothingCanBeBound) {
  struct Bind final : Members::Visitor {
    void layer(const std::string&, const std::string&) override {}
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
