#include "asyncgrad/nn/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/tests/nn/scale.h"
#include "asyncgrad/tests/support/message_of.h"

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

// What compiles as a layer, and what has to name its members first.
struct WithoutList {
  Tensor weight;
  Tensor operator()(const Tensor& x) const { return x * weight; }
};
struct Empty {
  Tensor operator()(const Tensor& x) const { return x; }
};
constexpr auto lambda = [](const Tensor& x) { return x; };
inline auto capturing(int n) {
  return [n](const Tensor& x) { return x * n; };
}
static_assert(Listed<Scale> && Listed<Block> && Listed<Sequential> && Listed<Dense> && Listed<Flatten>);
static_assert(Listed<Empty> && Listed<Activation> && Listed<std::decay_t<decltype(lambda)>>);
static_assert(!Listed<WithoutList> && !Listed<decltype(capturing(1))>);
static_assert(!Listed<std::function<Tensor(const Tensor&)>> && !Listed<float> && !Listed<Tensor*>);

}  // namespace
}  // namespace asyncgrad::nn
