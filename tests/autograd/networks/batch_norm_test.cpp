#include "asyncgrad/autograd/batch_norm.h"

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

// The shapes have every length of a vector and the lengths beside it, columns, several tiles and several blocks of
// sums.
const Shape batch_norm_shapes[] = {{5, 3},       {130, 17},       {3, 70},        {3, 2, 1, 7},    {4, 3, 4, 4},
                                   {9, 5, 7, 7}, {3, 2, 9, 15},   {2, 3, 50, 90}, {200, 30, 4, 4}, {1100, 3, 2, 2},
                                   {2000, 40},   {4, 1, 3, 5, 2}, {1, 3, 4, 4},   {1, 2, 5},       {6, 3, 1, 1}};

struct BatchNormOperands {
  Tensor x, weight, bias;
};
BatchNormOperands operands(const Shape& x) { return {random64(x, 1, -2, 3), random64({x[1]}, 2), random64({x[1]}, 3)}; }

struct Decomposed {
  Tensor y, mean, variance;
};
Tensor planes(const Tensor& x) { return x.reshape({x.size(0), x.size(1), -1}); }
Tensor normalised(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                  const Tensor& bias) {
  const Tensor normal = (planes(x) - unsqueeze(mean, 1)) * rsqrt(unsqueeze(variance, 1) + 1e-5);
  const Tensor scaled = weight.defined() ? normal * unsqueeze(weight, 1) : normal;
  return (bias.defined() ? scaled + unsqueeze(bias, 1) : scaled).reshape(x.shape());
}
Decomposed decomposed(const BatchNormOperands& o) {
  const Tensor mean = asyncgrad::mean(planes(o.x), {0, 2}), variance = asyncgrad::variance(planes(o.x), {0, 2});
  return {normalised(o.x, mean, variance, o.weight, o.bias), mean, variance};
}

TEST(BatchNorm, IsTheDecomposedForm) {
  for (const Shape& shape : batch_norm_shapes) {
    SCOPED_TRACE(shape.str());
    const BatchNormOperands o = operands(shape);
    const Decomposed expected = decomposed(o);
    const BatchNormResult found = batch_norm(o.x, o.weight, o.bias);
    expect_near(found.y, values(expected.y), 1e-11);
    expect_near(found.mean, values(expected.mean));
    expect_near(found.variance, values(expected.variance));
    expect_near(batch_norm(o.x).y, values(decomposed({o.x, {}, {}}).y), 1e-11);
    expect_near(batch_norm(o.x, {}, o.bias).y, values(decomposed({o.x, {}, o.bias}).y), 1e-11);
    const BatchNormResult found32 = batch_norm(o.x.to(float32), o.weight.to(float32), o.bias.to(float32));
    expect_near(found32.y, values(expected.y), 1e-5);
    expect_near(found32.variance, values(expected.variance), 1e-5);
  }
}

TEST(BatchNormWith, TakesTheStatisticsItIsGiven) {
  for (const Shape& shape : batch_norm_shapes) {
    const BatchNormOperands o = operands(shape);
    const Tensor mean = random64({shape[1]}, 4), variance = random64({shape[1]}, 5, 0.5, 2);
    expect_near(batch_norm_with(o.x, mean, variance, o.weight, o.bias),
                values(normalised(o.x, mean, variance, o.weight, o.bias)));
    expect_near(batch_norm_with(o.x, mean, variance), values(normalised(o.x, mean, variance, {}, {})));
  }
}

using BatchNormFunction = Tensor (*)(const BatchNormOperands&);
std::vector<std::vector<double>> gradients(BatchNormFunction norm, BatchNormOperands o, DType dtype) {
  for (Tensor* tensor : {&o.x, &o.weight, &o.bias}) *tensor = parameter(tensor->to(dtype).clone());
  const Tensor y = norm(o);
  sum(y * random64(y.shape(), 9).to(dtype)).backward();
  return {values(o.x.grad()), values(o.weight.grad()), values(o.bias.grad())};
}
void expect_alike(BatchNormFunction norm, BatchNormFunction decomposed_form) {
  for (const Shape& shape : batch_norm_shapes) {
    SCOPED_TRACE(shape.str());
    const BatchNormOperands o = operands(shape);
    const auto expected = gradients(decomposed_form, o, float64), found = gradients(norm, o, float64);
    const auto found32 = gradients(norm, o, float32);
    for (std::size_t i = 0; i < 3; ++i) {
      const Shape all{static_cast<std::int64_t>(expected[i].size())};
      expect_near(Tensor::from(found[i], all), expected[i], 1e-9);
      expect_near(Tensor::from(found32[i], all), expected[i], 2e-4);
    }
  }
}

TEST(BatchNorm, HasTheGradientsOfTheDecomposedForm) {
  expect_alike([](const BatchNormOperands& o) { return batch_norm(o.x, o.weight, o.bias).y; },
               [](const BatchNormOperands& o) { return decomposed(o).y; });
}

TEST(BatchNormWith, HasTheGradientsOfTheDecomposedForm) {
  const auto statistics = [](const BatchNormOperands& o, std::uint64_t seed) {
    return random64({o.x.size(1)}, seed, 0.5, 2).to(o.x.dtype());
  };
  static const auto mean = [=](const BatchNormOperands& o) { return statistics(o, 4); };
  static const auto variance = [=](const BatchNormOperands& o) { return statistics(o, 5); };
  expect_alike([](const BatchNormOperands& o) { return batch_norm_with(o.x, mean(o), variance(o), o.weight, o.bias); },
               [](const BatchNormOperands& o) { return normalised(o.x, mean(o), variance(o), o.weight, o.bias); });
}

TEST(BatchNorm, KeepsDigitsFarFromZero) {
  const Tensor x = random64({64, 3, 4, 4}, 1);
  expect_near(batch_norm((x + 1e3).to(float32)).y, values(batch_norm(x).y), 1e-3);
}

TEST(BatchNorm, OfAChannelWithANaNIsNaNInThatChannelAlone) {
  const Tensor x = parameter(float64_tensor({1, 2, nan, 4, 5, 7, 3, 9}, {4, 2}));
  const Tensor weight = parameter(ones({2}, {.dtype = float64})), bias = parameter(zeros({2}, {.dtype = float64}));
  const BatchNormResult found = batch_norm(x, weight, bias);
  found.y.backward(random64({4, 2}, 1));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(std::isnan(values(found.y)[i]), i % 2 == 0) << i;
    EXPECT_EQ(std::isnan(values(x.grad())[i]), i % 2 == 0) << i;
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(std::isnan(values(weight.grad())[i]), i == 0) << i;
  expect_near(bias.grad(), values(sum(random64({4, 2}, 1), 0)));
}

// Their results do not depend on x.
TEST(BatchNorm, OfChannelsWithoutVarianceIsTheBias) {
  for (const Shape& shape : {Shape{1, 3}, Shape{1, 3, 1, 1}, Shape{4, 3, 2}}) {
    const Tensor x = parameter(full(shape, 2.5, {.dtype = float64})), weight = parameter(random64({3}, 2));
    const Tensor bias = parameter(random64({3}, 3)), dy = random64(shape, 4);
    const BatchNormResult found = batch_norm(x, weight, bias);
    expect_near(planes(found.y), values(planes(zeros(shape, {.dtype = float64})) + unsqueeze(bias, 1)));
    expect_near(found.variance, {0, 0, 0});
    found.y.backward(dy);
    expect_near(weight.grad(), {0, 0, 0});
    expect_near(bias.grad(), values(sum(planes(dy), {0, 2})));
    // The gradient of a channel is dy less its mean, times weight / sqrt(epsilon).
    const Tensor expected = (planes(dy) - mean(planes(dy), {0, 2}, true)) * unsqueeze(weight, 1) / std::sqrt(1e-5);
    expect_near(x.grad(), values(expected));
  }
}

TEST(BatchNorm, OfNothingIsNothing) {
  for (const Shape& shape : {Shape{0, 4}, Shape{0, 2, 3, 3}, Shape{3, 2, 0}, Shape{3, 0, 2}}) {
    Tensor x = parameter(zeros(shape)), weight = parameter(ones({shape[1]})), bias = parameter(ones({shape[1]}));
    const Tensor y = batch_norm(x, weight, bias).y;
    EXPECT_EQ(y.shape(), shape);
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), shape);
    for (const Tensor& leaf : {weight, bias}) {
      for (const double gradient : values(leaf.grad())) EXPECT_EQ(gradient, 0);
    }
  }
}

TEST(BatchNorm, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(message_of([&] { batch_norm(zeros({3})); }), "[batch_norm] needs x (N, C) or (N, C, …), got (3)");
  EXPECT_EQ(message_of([&] { batch_norm(x, ones({4})); }),
            "[batch_norm] weight must have an element for each channel, (3): x (2, 3, 4), weight (4)");
  EXPECT_EQ(message_of([&] { batch_norm_with(x, zeros({3}), ones({1})); }),
            "[batch_norm_with] variance must have an element for each channel, (3): x (2, 3, 4), variance (1)");
  EXPECT_EQ(message_of([&] { batch_norm_with(x, {}, ones({3})); }),
            "[batch_norm_with] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { batch_norm(x, {}, {}, {.epsilon = -1}); }),
            "[batch_norm] epsilon must be finite and not negative, got -1");
  EXPECT_EQ(message_of([&] { batch_norm(x.to(int64)); }),
            "[batch_norm] int64 is not supported: x int64 (2, 3, 4); x.to(ag::float32) converts it");
  EXPECT_TRUE(has_parts(message_of([&] { batch_norm(x, ones({3}, {.dtype = float64})); }),
                        {"[batch_norm]", "float32", "float64"}));
  EXPECT_EQ(message_of([&] { batch_norm(Tensor()); }),
            "[batch_norm] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
