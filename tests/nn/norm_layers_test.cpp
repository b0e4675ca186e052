#include "asyncgrad/nn/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using tests::message_of;

// Without weights nothing else would notice: pairs of channels would be normalised together.
TEST(NormLayers, RefuseOtherChannels) {
  const Tensor x = ones({2, 6, 4, 4});
  EXPECT_EQ(message_of([&] { InstanceNorm(3)(x); }), "[InstanceNorm] needs x (N, 3) or (N, 3, …), got (2, 6, 4, 4)");
  EXPECT_EQ(message_of([&] { GroupNorm(2, 4, {.affine = false})(x); }),
            "[GroupNorm] needs x (N, 4) or (N, 4, …), got (2, 6, 4, 4)");
  EXPECT_EQ(message_of([&] { GroupNorm(2, 4)(ones({4})); }), "[GroupNorm] needs x (N, 4) or (N, 4, …), got (4)");
  EXPECT_EQ(GroupNorm(2, 4)(ones({0, 4})).shape(), Shape(0, 4));
}

// One element has its own mean, so that it would become 0 whatever it was.
TEST(NormLayers, AnInstanceHasSeveralElements) {
  EXPECT_EQ(message_of([] {
              InstanceNorm(3)(ones({2, 3}));
            }),
            "[InstanceNorm] needs more than one element in a channel, got (2, 3)");
  EXPECT_EQ(message_of([] {
              InstanceNorm(3)(ones({2, 3, 1, 1}));
            }),
            "[InstanceNorm] needs more than one element in a channel, got (2, 3, 1, 1)");
  EXPECT_EQ(InstanceNorm(3)(ones({2, 3, 0})).shape(), Shape(2, 3, 0));
}

}  // namespace
}  // namespace asyncgrad::nn
