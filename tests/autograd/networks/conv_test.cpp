#include "asyncgrad/autograd/conv.h"
#include "asyncgrad/autograd/pool.h"

#include <limits>

#include "tests/autograd/gradient_check.h"
#include "tests/autograd/networks/conv_cases.h"
#include "tests/support/instruction_sets.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t largest_int64 = std::numeric_limits<std::int64_t>::max();

// The formula of the header, term by term.
std::vector<double> by_definition(const ConvCase& c, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  const Shape& shape) {
  const std::vector<double> xs = values(x), ws = values(weight), bs = bias.defined() ? values(bias) : xs;
  const Size2d &stride = c.options.stride, &padding = c.options.padding, &dilation = c.options.dilation;
  const std::int64_t per_group = shape[1] / c.options.groups;
  std::vector<double> y;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t o = 0; o < shape[1]; ++o) {
      for (std::int64_t p = 0; p < shape[2]; ++p) {
        for (std::int64_t q = 0; q < shape[3]; ++q) {
          double sum = bias.defined() ? bs[static_cast<std::size_t>(o)] : 0;
          for (std::int64_t k = 0; k < c.weight[1] * c.weight[2] * c.weight[3]; ++k) {
            const std::int64_t j = k % c.weight[3], i = k / c.weight[3] % c.weight[2];
            const std::int64_t channel = o / per_group * c.weight[1] + k / c.weight[3] / c.weight[2];
            const std::int64_t row = p * stride.height - padding.height + i * dilation.height;
            const std::int64_t column = q * stride.width - padding.width + j * dilation.width;
            if (row < 0 || row >= c.x[2] || column < 0 || column >= c.x[3]) continue;
            sum += xs[static_cast<std::size_t>(((n * c.x[1] + channel) * c.x[2] + row) * c.x[3] + column)] *
                   ws[static_cast<std::size_t>(o * c.weight[1] * c.weight[2] * c.weight[3] + k)];
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

struct ConvOperands {
  Tensor x, weight, bias;
};
ConvOperands operands(const ConvCase& c) {
  return {random64(c.x, 1), random64(c.weight, 2), random64({c.weight[0]}, 3)};
}

TEST(Conv2d, IsTheSumOfItsDefinition) {
  for (const auto& cases : {std::span<const ConvCase>(small_convs), std::span<const ConvCase>(large_convs)}) {
    for (const ConvCase& c : cases) {
      SCOPED_TRACE(c.x.str() + " " + c.weight.str());
      const auto [x, weight, bias] = operands(c);
      const Tensor y = conv2d(x, weight, bias, c.options);
      expect_near(y, by_definition(c, x, weight, bias, y.shape()), 1e-11);
      expect_near(conv2d(x, weight, {}, c.options), by_definition(c, x, weight, {}, y.shape()), 1e-11);
      const Tensor y32 = conv2d(x.to(float32), weight.to(float32), bias.to(float32), c.options);
      expect_near(y32, by_definition(c, x, weight, bias, y.shape()), 5e-5);
    }
  }
}

// The result and the gradients of the input and of the weight.
std::vector<Tensor> results(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& dy,
                            const Conv2dOptions& options) {
  const Tensor x_leaf = parameter(x.clone()), weight_leaf = parameter(weight.clone());
  const Tensor y = conv2d(x_leaf, weight_leaf, bias, options);
  y.backward(dy);
  return {y, x_leaf.grad(), weight_leaf.grad()};
}

std::vector<int> classes(const Tensor& tensor) {
  std::vector<int> classes;
  for (const double value : values(tensor)) classes.push_back(std::fpclassify(value));
  return classes;
}

// Vectors go along the channels where planes are small, but along pixels where a channel is alone: sums are the same
// chains. The gradient of a weight alone is summed in another order. Elements of one channel may be infinite.
void expect_as_alone(const ConvCase& c, DType dtype, bool has_infinite) {
  SCOPED_TRACE(c.x.str() + " " + c.weight.str());
  const std::int64_t groups = c.options.groups, outputs = c.weight[0] / groups;
  ConvOperands o = operands(c);
  const Tensor x = o.x.to(dtype), weight = o.weight.to(dtype), bias = o.bias.to(dtype);
  const Tensor dy = random64(conv2d(x, weight, {}, c.options).shape(), 4).to(dtype);
  if (has_infinite) {
    assign(x, {{0, 1, 2}, {1, 2, 3}, {2, 0, 1}, {3, 0, 1}}, infinity);
    assign(dy, {{0, 1, 2}, {1, 3 * outputs, 3 * outputs + 1}, {2, 0, 1}, {3, 0, 1}}, infinity);
  }
  const std::vector<Tensor> all = results(x, weight, bias, dy, c.options);
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = group * outputs, end = first + outputs;
    Conv2dOptions alone = c.options;
    alone.groups = 1;
    const std::vector<Tensor> expected = results(slice(x, 1, group, group + 1), slice(weight, 0, first, end),
                                                 slice(bias, 0, first, end), slice(dy, 1, first, end), alone);
    EXPECT_EQ(bits(slice(all[0], 1, first, end)), bits(expected[0]));
    EXPECT_EQ(bits(slice(all[1], 1, group, group + 1)), bits(expected[1]));
    const Tensor dw = slice(all[2], 0, first, end);
    EXPECT_EQ(classes(dw), classes(expected[2]));
    // Rounding errors grow with the root of the number of terms.
    const double terms = static_cast<double>(dy.numel()) / static_cast<double>(dy.size(1));
    const double rounding = std::max(1e-5, 4e-7 * std::sqrt(terms));
    if (!has_infinite) expect_near(dw, values(expected[2]), dtype == float64 ? 1e-13 : rounding);
  }
}

TEST(Conv2d, OfManyChannelsIsThatOfEachAlone) {
  for (const ConvCase& c : large_convs) {
    if (c.options.groups < 16) continue;
    for (const DType dtype : {float32, float64}) {
      for (const bool has_infinite : {false, true}) expect_as_alone(c, dtype, has_infinite);
    }
  }
}

// The registers of an instruction set say how many sums are computed at once.
TEST(Conv2dDeathTest, IsComputedUnderEveryInstructionSet) {
  tests::expect_under_every_instruction_set([] {
    for (const ConvCase& c : large_convs) {
      const auto [x, weight, bias] = operands(c);
      const Tensor x32 = parameter(x.to(float32)), weight32 = parameter(weight.to(float32));
      const Tensor y = conv2d(x32, weight32, bias.to(float32), c.options);
      expect_near(y, by_definition(c, x, weight, bias, y.shape()), 5e-5);
      y.backward(y.detach());
      const double expected = sum(y.detach() * conv2d(x32.detach(), weight32.detach(), {}, c.options)).item();
      EXPECT_NEAR(sum(x32.grad() * x32.detach()).item(), expected, 1e-4 * (1 + std::abs(expected)));
      EXPECT_NEAR(sum(weight32.grad() * weight32.detach()).item(), expected, 1e-4 * (1 + std::abs(expected)));
      if (c.options.groups >= 16) expect_as_alone(c, float32, true);
    }
    return !testing::Test::HasFailure();
  });
}

TEST(Conv2d, HasTheGradientsOfDifferences) {
  for (const ConvCase& c : small_convs) {
    SCOPED_TRACE(c.x.str() + " " + c.weight.str());
    const auto [x, weight, bias] = operands(c);
    check_gradients([&](const std::vector<Tensor>& t) { return conv2d(t[0], t[1], t[2], c.options); },
                    {x, weight, bias});
  }
}

TEST(Conv2d, HasGradientsOfGradients) {
  for (const ConvCase& c : {small_convs[2], small_convs[5]}) {
    const auto [x, weight, bias] = operands(c);
    check_derivatives(
        1, [&](const std::vector<Tensor>& t) { return square(conv2d(t[0], t[1], t[2], c.options)); }, {x, weight, bias},
        1e-5);
  }
}

// The gradients of large cases fulfil <dy, conv(x, w)> = <dx, x> = <dw, w>, in both types.
TEST(Conv2d, HasAdjointGradients) {
  for (const ConvCase& c : large_convs) {
    SCOPED_TRACE(c.x.str() + " " + c.weight.str());
    for (const DType dtype : {float64, float32}) {
      const ConvOperands o = operands(c);
      const Tensor x = parameter(o.x.to(dtype)), weight = parameter(o.weight.to(dtype));
      const Tensor bias = parameter(o.bias.to(dtype)), y = conv2d(x, weight, bias, c.options);
      const Tensor dy = random64(y.shape(), 4).to(dtype);
      y.backward(dy);
      const Tensor without_bias = conv2d(x.detach(), weight.detach(), {}, c.options);
      const double expected = sum(dy * without_bias).item(), tolerance = dtype == float64 ? 1e-9 : 2e-3;
      EXPECT_NEAR(sum(x.grad() * x.detach()).item(), expected, tolerance);
      EXPECT_NEAR(sum(weight.grad() * weight.detach()).item(), expected, tolerance);
      expect_near(bias.grad(), values(sum(dy.to(float64), {0, 2, 3})), dtype == float64 ? 1e-12 : 1e-4);
    }
  }
}

// Each element of the gradients is near that of float64, whose gradients other tests compare with differences.
TEST(Conv2d, HasTheSameGradientsInBothTypes) {
  for (const ConvCase& c : large_convs) {
    SCOPED_TRACE(c.x.str() + " " + c.weight.str());
    std::vector<std::vector<double>> found[2];
    for (const DType dtype : {float64, float32}) {
      const ConvOperands o = operands(c);
      const Tensor x = parameter(o.x.to(dtype)), weight = parameter(o.weight.to(dtype));
      sum(square(conv2d(x, weight, {}, c.options))).backward();
      found[dtype == float32] = {values(x.grad()), values(weight.grad())};
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::vector<double>& exact = found[0][i];
      expect_near(Tensor::from(found[1][i], {static_cast<std::int64_t>(exact.size())}), exact, 5e-4);
    }
  }
}

// The test also covers pooling and batch normalisation.
TEST(Conv2d, DoesNotDependOnTheWorkers) {
  expect_same_for_all_workers([] {
    const Tensor x = parameter(random64({6, 20, 33, 31}, 1).to(float32));
    const Tensor weight = parameter(random64({24, 10, 3, 3}, 2).to(float32)), bias = parameter(zeros({24}));
    const Tensor scale = parameter(ones({24}));
    const Tensor normal = batch_norm(conv2d(x, weight, bias, {.padding = 1, .groups = 2}), scale).y;
    const Tensor y = avg_pool2d(max_pool2d(normal, 3, {.stride = 2}), 2);
    sum(square(y)).backward();
    return std::vector{y, x.grad(), weight.grad(), bias.grad(), scale.grad()};
  });
}

// Of every way in which a convolution is cut and computed, and of a layer of ResNet.
TEST(Conv2d, OfAnyShapeDoesNotDependOnTheWorkers) {
  std::vector<ConvCase> cases(std::begin(large_convs), std::end(large_convs));
  cases.push_back({{2, 64, 56, 56}, {64, 64, 3, 3}, {.padding = 1}});
  cases.push_back({{4, 64, 56, 56}, {128, 64, 1, 1}, {.stride = 2}});
  cases.push_back({{3, 96, 56, 56}, {96, 1, 7, 7}, {.padding = 3, .groups = 96}});
  cases.push_back({{16, 96, 14, 14}, {96, 1, 5, 5}, {.stride = 2, .padding = 2, .groups = 96}});
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(c.x.str() + " " + c.weight.str());
    expect_same_for_all_workers([&c] {
      const ConvOperands o = operands(c);
      const Tensor x = parameter(o.x.to(float32)), weight = parameter(o.weight.to(float32));
      const Tensor y = conv2d(x, weight, o.bias.to(float32), c.options);
      sum(square(y)).backward();
      return std::vector{y, x.grad(), weight.grad()};
    });
  }
}

TEST(Conv2d, OfNothingIsNothing) {
  const Tensor x = parameter(zeros({0, 2, 5, 5})), weight = parameter(ones({3, 2, 3, 3})), bias = parameter(ones({3}));
  const Tensor y = conv2d(x, weight, bias);
  EXPECT_EQ(y.shape(), Shape(0, 3, 3, 3));
  sum(y).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(values(weight.grad()), std::vector<double>(54, 0));
  EXPECT_EQ(values(bias.grad()), std::vector<double>(3, 0));
  // Padding alone makes results of images without rows.
  const Tensor empty = parameter(zeros({1, 2, 0, 4}));
  const Tensor padded = conv2d(empty, weight, bias, {.padding = 2});
  EXPECT_EQ(values(padded), std::vector<double>(static_cast<std::size_t>(padded.numel()), 1));
  sum(padded).backward();
  EXPECT_EQ(empty.grad().shape(), empty.shape());
}

// Says for each element whether it is NaN.
std::vector<bool> nans(const Tensor& tensor) {
  std::vector<bool> found;
  for (const double value : values(tensor)) found.push_back(std::isnan(value));
  return found;
}

TEST(Conv2d, SpreadsANaNToWhatSeesIt) {
  for (const DType dtype : {float32, float64}) {
    const Tensor start = ones({1, 1, 1, 4}, {.dtype = dtype}), dy = ones({1, 2, 1, 3}, {.dtype = dtype});
    assign(start, {{3, 0, 1}}, nan);
    const Tensor x = parameter(start), weight = parameter(ones({2, 1, 1, 2}, {.dtype = dtype}));
    const Tensor bias = parameter(zeros({2}, {.dtype = dtype})), y = conv2d(x, weight, bias);
    EXPECT_EQ(nans(y), (std::vector<bool>{true, false, false, true, false, false}));
    y.backward(dy, /*retain_graph=*/true);
    EXPECT_EQ(nans(x.grad()), std::vector<bool>(4, false));
    EXPECT_EQ(nans(weight.grad()), (std::vector<bool>{true, false, true, false}));
    EXPECT_EQ(nans(bias.grad()), std::vector<bool>(2, false));

    assign(dy, {{1, 1, 2}, {3, 2, 3}}, nan);  // of the last output of the second channel
    const std::vector<Tensor> gradients = grad(y, {x, weight, bias}, dy);
    EXPECT_EQ(nans(gradients[0]), (std::vector<bool>{false, false, true, true}));
    EXPECT_EQ(nans(gradients[1]), (std::vector<bool>{true, false, true, true}));
    EXPECT_EQ(nans(gradients[2]), (std::vector<bool>{false, true}));
  }
}

// The loops read elements beside a row, and must not let them count.
TEST(Conv2d, SpreadsANaNOfALineToNoOther) {
  for (const std::int64_t outputs : {2, 16}) {
    Tensor start = ones({2, 1, 4, 5});
    assign(start, {{1, 0, 1}, {2, 2, 3}, {3, 0, 1}}, nan);  // in the first column of the second image
    const Tensor x = parameter(start.reshape({2, 1, 4, 5})), weight = parameter(ones({outputs, 1, 2, 3}));
    conv2d(x, weight).backward(ones({2, outputs, 3, 3}));
    std::vector<bool> expected;
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (const bool sees_it : {true, false, false, true, false, false}) expected.push_back(sees_it);
    }
    EXPECT_EQ(nans(weight.grad()), expected);
  }
}

TEST(Conv1d, IsConv2dOfHeightOne) {
  const Tensor x = random64({2, 4, 9}, 1), weight = random64({6, 2, 3}, 2), bias = random64({6}, 3);
  const Conv1dOptions options{.stride = 2, .padding = 1, .dilation = 2, .groups = 2};
  const Tensor y = conv1d(x, weight, bias, options);
  EXPECT_EQ(y.shape(), Shape(2, 6, 4));
  const Tensor flat = conv2d(x.reshape({2, 4, 1, 9}), weight.reshape({6, 2, 1, 3}), bias,
                             {.stride = {1, 2}, .padding = {0, 1}, .dilation = {1, 2}, .groups = 2});
  EXPECT_EQ(values(y), values(flat));
  check_gradients([&](const std::vector<Tensor>& t) { return conv1d(t[0], t[1], t[2], options); }, {x, weight, bias});
}

TEST(Conv2d, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 4, 5, 5}), w = zeros({6, 4, 3, 3});
  const auto refused = [&](const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
    return message_of([&] { conv2d(x, weight, bias, options); });
  };
  EXPECT_EQ(message_of([&] {
              conv2d(zeros({4, 5, 5}), w);
            }),
            "[conv2d] needs x (N, C, H, W) and weight (O, C / groups, h, w): x (4, 5, 5), weight (6, 4, 3, 3); "
            "x.reshape({1, 4, 5, 5}) is a batch of one sample");
  EXPECT_EQ(message_of([&] { conv1d(x, w); }),
            "[conv1d] needs x (N, C, L) and weight (O, C / groups, k): x (2, 4, 5, 5), weight (6, 4, 3, 3)");
  EXPECT_EQ(refused(zeros({6, 3, 3, 3}), {}, {}),
            "[conv2d] the weight is for x (N, 3, H, W) in 1 group: x (2, 4, 5, 5), weight (6, 3, 3, 3); a weight (6, "
            "4, 3, 3) fits x");
  for (const std::int64_t groups :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, std::int64_t{4}, largest_int64}) {
    EXPECT_TRUE(has_parts(refused(w, {}, {.groups = groups}), {"[conv2d] the", std::to_string(groups) + " groups"}));
  }
  EXPECT_EQ(refused(zeros({6, 4, 0, 3}), {}, {}),
            "[conv2d] the weight has no elements: x (2, 4, 5, 5), weight (6, 4, 0, 3)");
  EXPECT_EQ(refused(w, zeros({5}), {}), "[conv2d] bias must have the shape (6): weight (6, 4, 3, 3), bias (5)");
  EXPECT_EQ(refused(w, {}, {.stride = {1, 0}}), "[conv2d] stride must be 1 or more, got (1, 0)");
  EXPECT_EQ(refused(w, {}, {.padding = -1}), "[conv2d] padding must be 0 or more, got (-1, -1)");
  EXPECT_EQ(refused(w, {}, {.dilation = {0, 1}}), "[conv2d] dilation must be 1 or more, got (0, 1)");
  EXPECT_EQ(refused(w, {}, {.dilation = 3}),
            "[conv2d] the kernel is larger than the padded input: input (5, 5), kernel (3, 3), padding (0, 0), "
            "dilation (3, 3); take a smaller kernel, or fewer strides and pools before it");
  for (const Conv2dOptions& options :
       {Conv2dOptions{.padding = largest_int64}, Conv2dOptions{.dilation = largest_int64}}) {
    EXPECT_TRUE(has_parts(refused(w, {}, options), {"[conv2d] numbers are too large: input (5, 5)"}));
  }
  EXPECT_NE(refused(w, {}, {.padding = largest_int64 / 4}), "");
  EXPECT_EQ(conv2d(x, w, {}, {.stride = largest_int64}).shape(), Shape(2, 6, 1, 1));
  EXPECT_EQ(message_of([&] { conv2d(x.to(int64), w.to(int64)); }),
            "[conv2d] int64 is not supported: x int64 (2, 4, 5, 5); x.to(ag::float32) converts it");
  EXPECT_TRUE(has_parts(refused(w.to(float64), {}, {}), {"[conv2d]", "float32", "float64"}));
  EXPECT_EQ(message_of([&] { conv2d(Tensor(), w); }),
            "[conv2d] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { conv2d(x, Tensor()); }),
            "[conv2d] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
