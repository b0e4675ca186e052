#include "asyncgrad/nn/clone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/listed_layers.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST(Clone, HasTensorsOfItsOwn) {
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

TEST(Clone, OfAParameterIsALeafWithoutGradient) {
  const Scale scale;
  sum(scale(ones({3}))).backward();
  const Scale copy = clone(scale);
  EXPECT_FALSE(copy.weight.grad().defined());
  sum(copy(ones({5}))).backward();
  EXPECT_EQ(copy.weight.grad().item(), 5);
  EXPECT_EQ(scale.weight.grad().item(), 3);
}

TEST(Clone, PreservesWhatIsShared) {
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

TEST(Copy, SharesTheTensors) {
  const Block block;
  const Block copy = block;
  EXPECT_EQ(copy.dense.weight.impl(), block.dense.weight.impl());
}

TEST(Clone, HasObjectsOfItsOwnBehindSharedPointers) {
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

TEST(Clone, NeverRebindsTheOriginal) {
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

TEST(Clone, NeverSlicesAnObjectBehindAPointerToItsBase) {
  EXPECT_THAT(names(state(OfBase())), ElementsAre("base.weight", "base.more"));
  EXPECT_THAT(message_of([] { clone(OfBase()); }), HasSubstr("\"base\" leads to a Derived, which cannot be copied"));
}

}  // namespace
}  // namespace asyncgrad::nn
