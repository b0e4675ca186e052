#include "asyncgrad/nn/activation_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::ElementsAre, testing::HasSubstr;
using tests::message_of;

Tensor input() { return arange(0, 24).reshape({2, 3, 4}) / 4 - 3; }

TEST(ActivationLayers, ApplyTheirFunctions) {
  const auto check = [](const auto& layer, Activation function) {
    EXPECT_EQ(layer(input()).template to_vector<float>(), function(input()).to_vector<float>());
    const Sequential both{layer, function};  // layers and functions alike
    EXPECT_EQ(both(input()).to_vector<float>(), function(function(input())).to_vector<float>());
    EXPECT_TRUE(parameters(both).empty());
  };
  check(ReLU(), relu);
  check(Sigmoid(), sigmoid);
  check(Tanh(), tanh);
  check(SiLU(), silu);
  check(GELU(), gelu);
  check(GELUTanh(), gelu_tanh);
  check(Softplus(), softplus);
  check(Softsign(), softsign);
  check(SELU(), selu);
  check(Hardswish(), hardswish);
  check(Mish(), mish);
  check(LeakyReLU(), leaky_relu);
  check(ELU(), elu);
  check(Softmax(), [](const Arg& x) { return softmax(x); });
  check(LogSoftmax(), [](const Arg& x) { return log_softmax(x); });
}

TEST(ActivationLayers, HaveNumbersOfTheirOwn) {
  EXPECT_THAT(LeakyReLU(0.25)(full({1}, -2)).to_vector<float>(), ElementsAre(-0.5F));
  EXPECT_EQ(ELU(0.5)(input()).to_vector<float>(), elu(input(), 0.5).to_vector<float>());
  EXPECT_EQ(Softmax(1)(input()).to_vector<float>(), softmax(input(), 1).to_vector<float>());
  EXPECT_EQ(LogSoftmax(0)(input()).to_vector<float>(), log_softmax(input(), 0).to_vector<float>());
}

TEST(ActivationLayers, AnAxisThatNoTensorHasThrowsWhenALayerIsMade) {
  EXPECT_THAT(message_of([] { Softmax(6); }),
              HasSubstr("[Softmax] there is no axis 6 in a tensor, which has 6 at most"));
  EXPECT_THAT(message_of([] { LogSoftmax(-7); }), HasSubstr("[LogSoftmax] there is no axis -7"));
}

TEST(ActivationLayers, APReLULearnsASlopeForEachChannel) {
  const PReLU layer(3, {.initial_slope = 0.5});
  const Tensor y = layer(full({2, 3, 4}, -2));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(24, -1));
  sum(y * arange(0, 3).reshape({3, 1})).backward();
  EXPECT_THAT(layer.slope.grad().to_vector<float>(), ElementsAre(0, -16, -32));  // 8 elements of -2 in each channel
  EXPECT_EQ(PReLU()(full({5}, -4)).to_vector<float>(), std::vector<float>(5, -1));
  EXPECT_EQ(PReLU()(full({}, -4)).shape(), Shape());
  EXPECT_THAT(message_of([&] { layer(ones({3})); }), HasSubstr("[PReLU] needs x (N, 3) or (N, 3, …), got (3)"));
  EXPECT_THAT(message_of([&] { layer(ones({2, 4})); }), HasSubstr("got (2, 4)"));
  EXPECT_THAT(message_of([] { PReLU(0); }), HasSubstr("[PReLU] channels must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { PReLU(1, {.dtype = int64}); }),
              HasSubstr("[PReLU] must be of type float32 or float64, got int64"));
}

}  // namespace
}  // namespace asyncgrad::nn
