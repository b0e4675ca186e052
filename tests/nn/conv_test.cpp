#include "asyncgrad/nn/conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::Each;
using testing::HasSubstr;
using tests::message_of;

TEST(Conv2d, BeginsWithTheInitialiserOfAMatrixAndZeros) {
  Generator generator(3), again(3);
  const Conv2d conv(4, 6, {3, 2}, nullptr, {.groups = 2, .initialiser = he_normal, .generator = &generator});
  EXPECT_EQ(conv.weight.shape(), Shape(6, 2, 3, 2));
  EXPECT_EQ(conv.weight.to_vector<float>(), transpose(he_normal({12, 6}, {.generator = &again})).to_vector<float>());
  EXPECT_THAT(conv.bias.to_vector<float>(), Each(0));
  EXPECT_TRUE(conv.weight.requires_grad() && conv.bias.requires_grad());
  EXPECT_EQ(parameters(Conv1d(2, 3, 5, nullptr, {.bias = false})).size(), 1U);
  EXPECT_EQ(Conv1d(2, 3, 5).weight.shape(), Shape(3, 2, 5));
}

TEST(ConvTranspose2d, HasTheWeightOfTheConvolutionThatItTransposes) {
  Generator one(1), other(1);
  const ConvTranspose2d transposed(4, 6, {3, 2}, nullptr, {.groups = 2, .generator = &one});
  const Conv2d conv(6, 4, {3, 2}, nullptr, {.groups = 2, .generator = &other});
  EXPECT_EQ(transposed.weight.shape(), Shape(4, 3, 3, 2));
  EXPECT_EQ(transposed.weight.to_vector<float>(), conv.weight.to_vector<float>());
  EXPECT_EQ(transposed.bias.shape(), Shape{6});
  EXPECT_EQ(parameters(ConvTranspose1d(2, 3, 5, nullptr, {.bias = false})).size(), 1U);
  EXPECT_EQ(ConvTranspose1d(2, 3, 5).weight.shape(), Shape(2, 3, 5));
}

TEST(Conv2d, AppliesItsActivation) {
  const Conv2d conv(1, 1, 1, relu, {.initialiser = [](const Shape& shape, RandomOptions options, Location where) {
                      return constant(shape, -1, {.dtype = options.dtype}, where);
                    }});
  EXPECT_THAT(conv(ones({1, 1, 2, 2})).to_vector<float>(), Each(0));
  EXPECT_THAT(conv(-ones({1, 1, 2, 2})).to_vector<float>(), Each(1));
  Conv1d line(1, 1, 1, relu);
  line.bias = full({1}, -100);
  EXPECT_THAT(line(ones({1, 1, 2})).to_vector<float>(), Each(0));
}

TEST(Conv2d, WrongSizesThrow) {
  EXPECT_THAT(message_of([] { Conv2d(0, 3, 3); }), HasSubstr("[Conv2d] in_channels must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { ConvTranspose2d(3, 0, 3); }),
              HasSubstr("[ConvTranspose2d] out_channels must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { Conv2d(1, 3, {3, -1}); }), HasSubstr("kernel_size must be at least 1, got -1"));
  EXPECT_THAT(message_of([] { Conv1d(1, -3, 0); }), HasSubstr("[Conv1d] out_channels must be at least 1, got -3"));
  EXPECT_THAT(message_of([] { Conv2d(4, 6, 3, nullptr, {.groups = 3}); }),
              HasSubstr("[Conv2d] groups must divide in_channels and out_channels, got 3 groups for 4 and 6"));
  EXPECT_THAT(message_of([] { Conv2d(4, 6, 3, nullptr, {.groups = 0}); }),
              HasSubstr("groups must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { Conv2d(4, 6, 3, nullptr, {.dtype = int64}); }),
              HasSubstr("must be of type float32 or float64, got int64"));
  EXPECT_THAT(message_of([] {
                Conv2d(4, 6, 3)(ones({1, 3, 5, 5}));
              }),
              HasSubstr("[conv2d] the weight is for x (N, 4, H, W) in 1 group: x (1, 3, 5, 5)"));
}

TEST(Windows, OptionsThatFitNoInputThrowWhenALayerIsMade) {
  const auto expect = [](const char* part, const auto& make) { EXPECT_THAT(message_of(make), HasSubstr(part)); };
  expect("[Conv2d] stride must be 1 or more, got (1, 0)", [] { Conv2d(1, 1, 3, nullptr, {.stride = {1, 0}}); });
  expect("[Conv1d] padding must be 0 or more, got (0, -1)", [] { Conv1d(1, 1, 3, nullptr, {.padding = -1}); });
  expect("[ConvTranspose2d] dilation must be 1 or more", [] {
    ConvTranspose2d(1, 1, 3, nullptr, {.dilation = {0, 1}});
  });
  expect("[ConvTranspose1d] output_padding must be less than the stride or the dilation",
         [] { ConvTranspose1d(1, 1, 3, nullptr, {.output_padding = 1}); });
  expect("[MaxPool2d] kernel_size must be 1 or more, got (0, 0)", [] { MaxPool2d(0); });
  expect("[AvgPool2d] padding may be half of the kernel_size at most", [] { AvgPool2d(2, {.padding = 2}); });
  expect("[MaxPool1d] stride must be 1 or more", [] { MaxPool1d(2, {.stride = -1}); });
  expect("[AvgPool1d] padding must be 0 or more", [] { AvgPool1d(2, {.padding = -1}); });
  expect("[Upsample] align_corners is for bilinear", [] { Upsample(2, {.align_corners = true}); });
}

TEST(BatchNorm, KeepsStatisticsAsBuffers) {
  const BatchNorm norm(2);
  EXPECT_EQ(parameters(norm).size(), 2U);
  EXPECT_EQ(state(norm).size(), 4U);
  EXPECT_FALSE(norm.running_mean.requires_grad());
  const BatchNorm copy = clone(norm);
  norm(randn({8, 2}));
  EXPECT_THAT(copy.running_mean.to_vector<float>(), Each(0));
  EXPECT_NE(norm.running_mean.to_vector<float>(), copy.running_mean.to_vector<float>());
}

TEST(BatchNorm, KeepsItsStatisticsWhereABatchFails) {
  const BatchNorm norm(2);
  norm(randn({8, 2}));
  const auto mean = norm.running_mean.to_vector<float>(), variance = norm.running_var.to_vector<float>();
  const Tensor failed = take(randn({8, 2}), Tensor::from<std::int64_t>({0, 9}, {2}));
  EXPECT_THAT(message_of([&] { norm(failed).wait(); }), HasSubstr("index 9"));
  recover();
  EXPECT_EQ(norm.running_mean.to_vector<float>(), mean);
  EXPECT_EQ(norm.running_var.to_vector<float>(), variance);
}

TEST(BatchNorm, StaysAsItIsInEvaluation) {
  const BatchNorm norm(2);
  const Evaluation evaluation;
  norm(randn({8, 2}));
  norm(randn({1, 2}));
  EXPECT_THAT(norm.running_mean.to_vector<float>(), Each(0));
  EXPECT_THAT(norm.running_var.to_vector<float>(), Each(1));
}

TEST(BatchNorm, WrongSizesThrow) {
  EXPECT_THAT(message_of([] { BatchNorm(0); }), HasSubstr("[BatchNorm] channels must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { BatchNorm(2, {.epsilon = -1}); }),
              HasSubstr("epsilon must be finite and not negative, got -1"));
  EXPECT_THAT(message_of([] { BatchNorm(2, {.momentum = 1.5}); }), HasSubstr("momentum must be in [0, 1], got 1.5"));
  EXPECT_THAT(message_of([] { BatchNorm(2, {.dtype = int64}); }),
              HasSubstr("must be of type float32 or float64, got int64"));
  const BatchNorm norm(2);
  EXPECT_THAT(message_of([&] { norm(ones({4, 3})); }), HasSubstr("needs x (N, 2) or (N, 2, …) with two elements"));
  EXPECT_THAT(message_of([&] {
                norm(ones({1, 2}));
              }),
              HasSubstr("with two elements of each channel in training, got (1, 2)"));
  EXPECT_THAT(message_of([&] { norm(Tensor()); }), HasSubstr("holds nothing"));
  EXPECT_THAT(norm.running_mean.to_vector<float>(), Each(0));
}

TEST(GlobalAvgPool2d, NeedsFourAxes) {
  EXPECT_THAT(message_of([] { GlobalAvgPool2d()(ones({2, 3})); }), HasSubstr("[GlobalAvgPool2d] needs x (N, C, H, W)"));
}

}  // namespace
}  // namespace asyncgrad::nn
