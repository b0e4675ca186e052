#include "asyncgrad/nn/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::HasSubstr, testing::MatchesRegex;
using tests::message_of;

TEST(Activation, EachHasItsName) {
  EXPECT_EQ(activation_named("Dense", "relu"), Activation(relu));
  EXPECT_EQ(activation_named("Dense", "gelu_tanh"), Activation(gelu_tanh));
  for (const NamedActivation& row : named_activations()) EXPECT_EQ(activation_named("", row.name), row.function);
  EXPECT_THAT(
      message_of([] { activation_named("Dense", "loud"); }),
      MatchesRegex("\\[Dense\\] activation must be one of relu, sigmoid, tanh, .*, silu, .*, softmax, got loud.*"));
  EXPECT_THAT(message_of([] { activation_named("Dense", "floor"); }), HasSubstr("got floor"));  // it has no gradient
}

TEST(Activation, AnRnnHasTwo) {
  EXPECT_EQ(rnn_activation_named("relu"), RnnActivation::relu);
  EXPECT_EQ(rnn_activation_named("tanh"), RnnActivation::tanh);
  EXPECT_THAT(message_of([] { rnn_activation_named("gelu"); }),
              HasSubstr("[RNN] activation must be tanh or relu, got gelu"));
}

}  // namespace
}  // namespace asyncgrad::nn
