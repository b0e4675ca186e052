#include "tests/autograd/gradient_check.h"
#include "tests/autograd/networks/conv_cases.h"

namespace asyncgrad::tests {
namespace {

double dot(const Tensor& a, const Tensor& b) { return sum(a.to(float64) * b.to(float64)).item(); }

// <conv_transpose(x, w), z> = <x, conv(z, w)> for all x and z.
TEST(ConvTranspose2d, IsTheTransposeOfConv2d) {
  for (const auto& cases : {std::span<const ConvCase>(small_convs), std::span<const ConvCase>(large_convs)}) {
    for (const ConvCase& c : cases) {
      SCOPED_TRACE(c.x.str() + " " + c.weight.str());
      const Tensor z = random64(c.x, 1), weight = random64(c.weight, 2), y = conv2d(z, weight, {}, c.options);
      const Tensor x = random64(y.shape(), 3), bias = random64({c.x[1]}, 4);
      const auto more = [&](int axis, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
        return c.x[axis] - ((y.size(axis) - 1) * stride - 2 * padding + dilation * (c.weight[axis] - 1) + 1);
      };
      const Conv2dOptions& o = c.options;
      const ConvTranspose2dOptions options{
          .stride = o.stride,
          .padding = o.padding,
          .output_padding = {more(2, o.stride.height, o.padding.height, o.dilation.height),
                             more(3, o.stride.width, o.padding.width, o.dilation.width)},
          .dilation = o.dilation,
          .groups = o.groups};
      const Tensor transposed = conv_transpose2d(x, weight, {}, options);
      ASSERT_EQ(transposed.shape(), c.x);
      EXPECT_NEAR(dot(transposed, z), dot(x, y), 1e-9);
      EXPECT_NEAR(sum(conv_transpose2d(x, weight, bias, options) - transposed).item(),
                  sum(bias).item() * static_cast<double>(c.x.numel() / c.x[1]), 1e-9);
    }
  }
}

TEST(ConvTranspose2d, HasTheGradientsOfDifferences) {
  const Tensor x = random64({2, 4, 3, 2}, 1), weight = random64({4, 3, 2, 3}, 2), bias = random64({6}, 3);
  const ConvTranspose2dOptions options{
      .stride = {2, 3}, .padding = {1, 0}, .output_padding = {1, 2}, .dilation = {2, 1}, .groups = 2};
  check_gradients([&](const std::vector<Tensor>& t) { return conv_transpose2d(t[0], t[1], t[2], options); },
                  {x, weight, bias});
  check_derivatives(
      1, [&](const std::vector<Tensor>& t) { return square(conv_transpose2d(t[0], t[1], t[2], options)); },
      {x, weight, bias}, 1e-5);
}

TEST(ConvTranspose1d, IsConvTranspose2dOfHeightOne) {
  const Tensor x = random64({2, 4, 5}, 1), weight = random64({4, 3, 3}, 2), bias = random64({6}, 3);
  const Tensor y =
      conv_transpose1d(x, weight, bias, {.stride = 2, .padding = 1, .output_padding = 1, .dilation = 2, .groups = 2});
  EXPECT_EQ(y.shape(), Shape(2, 6, 12));
  const Tensor flat = conv_transpose2d(
      x.reshape({2, 4, 1, 5}), weight.reshape({4, 3, 1, 3}), bias,
      {.stride = {1, 2}, .padding = {0, 1}, .output_padding = {0, 1}, .dilation = {1, 2}, .groups = 2});
  EXPECT_EQ(values(y), values(flat));
}

TEST(ConvTranspose2d, WrongOperandsAndOptionsThrow) {
  const Tensor x = zeros({2, 4, 5, 5}), w = zeros({4, 3, 3, 3});
  const auto refused = [&](const Tensor& weight, const Tensor& bias, const ConvTranspose2dOptions& options) {
    return message_of([&] { conv_transpose2d(x, weight, bias, options); });
  };
  EXPECT_EQ(message_of([&] {
              conv_transpose2d(zeros({4, 5, 5}), w);
            }),
            "[conv_transpose2d] needs x (N, C, H, W) and weight (C, O / groups, h, w): x (4, 5, 5), weight (4, 3, 3, "
            "3); x.reshape({1, 4, 5, 5}) is a batch of one sample");
  EXPECT_EQ(message_of([&] { conv_transpose1d(x, w); }),
            "[conv_transpose1d] needs x (N, C, L) and weight (C, O / groups, k): x (2, 4, 5, 5), weight (4, 3, 3, 3)");
  EXPECT_EQ(refused(zeros({3, 4, 3, 3}), {}, {}),
            "[conv_transpose2d] the weight is for x (N, 3, H, W) in 1 group: x (2, 4, 5, 5), weight (3, 4, 3, 3); a "
            "weight (4, 4, 3, 3) fits x");
  EXPECT_EQ(refused(w, zeros({3}), {.groups = 2}),
            "[conv_transpose2d] bias must have the shape (6): weight (4, 3, 3, 3), bias (3)");
  EXPECT_EQ(refused(w, {}, {.stride = 0}), "[conv_transpose2d] stride must be 1 or more, got (0, 0)");
  EXPECT_EQ(refused(w, {}, {.output_padding = -1}),
            "[conv_transpose2d] output_padding must be 0 or more, got (-1, -1)");
  EXPECT_EQ(refused(w, {}, {.stride = 2, .output_padding = 2}),
            "[conv_transpose2d] output_padding must be less than the stride or the dilation: output_padding (2, 2), "
            "stride (2, 2), dilation (1, 1)");
  EXPECT_EQ(refused(w, {}, {.padding = 4}),
            "[conv_transpose2d] the padding cuts off the whole result: input 5, kernel 3, stride 1, padding 4, "
            "output_padding 0, dilation 1; take less of it");
  EXPECT_TRUE(has_parts(refused(w, {}, {.stride = std::numeric_limits<std::int64_t>::max() / 2}),
                        {"[conv_transpose2d] numbers are too large: input 5"}));
  EXPECT_TRUE(has_parts(message_of([&] { conv_transpose2d(zeros({2, 4, 0, 5}), w); }), {"the input has no elements"}));
}

}  // namespace
}  // namespace asyncgrad::tests
