#include "asyncgrad/autograd/norm.h"

#include "asyncgrad/autograd/networks/decomposed.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

struct NormOperands {
  Tensor x, weight, bias;
};
NormOperands operands(const Shape& x, const Shape& row) {
  return {random64(x, 1, -2, 3), random64(row, 2), random64(row, 3)};
}

// The rows have every length of a vector and the lengths beside it, and some shapes have several blocks of sums or
// tiles.
const Shape norm_shapes[] = {{3, 1},    {5, 2},  {1, 40},  {40},     {4, 15},   {2, 3, 17},
                             {130, 32}, {7, 64}, {3, 100}, {2, 513}, {2, 5000}, {2100, 33}};

TEST(LayerNorm, IsTheDecomposedForm) {
  for (const Shape& shape : norm_shapes) {
    SCOPED_TRACE(shape.str());
    const NormOperands o = operands(shape, {shape[-1]});
    const std::vector<double> expected = values(detail::decomposed_layer_norm(o.x, o.weight, o.bias, {}));
    expect_near(layer_norm(o.x, o.weight, o.bias), expected);
    expect_near(layer_norm(o.x.to(float32), o.weight.to(float32), o.bias.to(float32)), expected, 1e-5);
    expect_near(layer_norm(o.x, {}, o.bias), values(detail::decomposed_layer_norm(o.x, {}, o.bias, {})));
    expect_near(layer_norm(o.x, o.weight), values(detail::decomposed_layer_norm(o.x, o.weight, {}, {})));
    expect_near(layer_norm(o.x), values(detail::decomposed_layer_norm(o.x, {}, {}, {})));
    expect_near(rms_norm(o.x, o.weight), values(detail::decomposed_rms_norm(o.x, o.weight, {})));
    expect_near(rms_norm(o.x), values(detail::decomposed_rms_norm(o.x, {}, {})));
  }
}

using NormFunction = Tensor (*)(const NormOperands&);

// The gradients of the operands, in float64, of a loss in which every element has another weight.
std::vector<std::vector<double>> gradients(NormFunction norm, NormOperands o) {
  for (Tensor* tensor : {&o.x, &o.weight, &o.bias}) *tensor = parameter(tensor->clone());
  const Tensor y = norm(o);
  sum(y * random64(y.shape(), 9).to(y.dtype())).backward();
  std::vector<std::vector<double>> all;
  for (const Tensor* tensor : {&o.x, &o.weight, &o.bias}) {
    if (tensor->grad().defined()) all.push_back(values(tensor->grad()));
  }
  return all;
}

void expect_alike(NormFunction norm, NormFunction composed) {
  for (const Shape& shape : norm_shapes) {
    SCOPED_TRACE(shape.str());
    const NormOperands o = operands(shape, {shape[-1]});
    const auto expected = gradients(composed, o), found = gradients(norm, o);
    const auto found32 = gradients(norm, {o.x.to(float32), o.weight.to(float32), o.bias.to(float32)});
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_EQ(found32.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (shape[-1] == 2 || shape[-1] == 1) continue;  // of two numbers the normal ones are 1 and -1: no gradient
      expect_near(Tensor::from(found[i], {static_cast<std::int64_t>(found[i].size())}), expected[i], 1e-10);
      expect_near(Tensor::from(found32[i], {static_cast<std::int64_t>(found[i].size())}), expected[i], 1e-4);
    }
  }
}

TEST(LayerNorm, HasTheGradientsOfTheDecomposedForm) {
  expect_alike([](const NormOperands& o) { return layer_norm(o.x, o.weight, o.bias); },
               [](const NormOperands& o) { return detail::decomposed_layer_norm(o.x, o.weight, o.bias, {}); });
  expect_alike([](const NormOperands& o) { return layer_norm(o.x, {}, o.bias); },
               [](const NormOperands& o) { return detail::decomposed_layer_norm(o.x, {}, o.bias, {}); });
}

TEST(RmsNorm, HasTheGradientsOfTheDecomposedForm) {
  expect_alike([](const NormOperands& o) { return rms_norm(o.x, o.weight); },
               [](const NormOperands& o) { return detail::decomposed_rms_norm(o.x, o.weight, {}); });
  expect_alike([](const NormOperands& o) { return rms_norm(o.x); },
               [](const NormOperands& o) { return detail::decomposed_rms_norm(o.x, {}, {}); });
}

TEST(LayerNorm, TakesSeveralAxesAsARow) {
  const NormOperands o = operands({4, 2, 3, 5}, {3, 5});
  const Tensor rows = layer_norm(o.x.reshape({8, 15}), o.weight.reshape({15}), o.bias.reshape({15}));
  EXPECT_EQ(values(layer_norm(o.x, o.weight, o.bias, {.axes = 2})), values(rows));
  EXPECT_EQ(layer_norm(o.x, {}, {}, {.axes = 4}).shape(), o.x.shape());
}

TEST(LayerNorm, KeepsDigitsFarFromZero) {
  const Tensor x = random64({3, 64}, 1);
  expect_near(layer_norm((x + 1e3).to(float32)), values(layer_norm(x)), 1e-3);
}

TEST(LayerNorm, OfARowWithANaNIsNaNInThatRowAlone) {
  const Tensor x = parameter(float64_tensor({1, nan, 3, 1, 2, 3}, {2, 3})), dy = random64({2, 3}, 1);
  const Tensor weight = parameter(ones({3}, {.dtype = float64})), bias = parameter(zeros({3}, {.dtype = float64}));
  const Tensor y = layer_norm(x, weight, bias);
  y.backward(dy);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::isnan(values(y)[i]), i < 3) << i;
    EXPECT_EQ(std::isnan(values(x.grad())[i]), i < 3) << i;
  }
  for (const double gradient : values(weight.grad())) EXPECT_TRUE(std::isnan(gradient));  // each has a share of the row
  expect_near(bias.grad(), values(sum(dy, 0)));
}

TEST(LayerNorm, OfRowsWithoutVarianceIsTheBias) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 1}, Shape{1, 5}, Shape{4, 33}}) {
    const Shape row{shape[1]};
    const Tensor x = parameter(full(shape, 2.5, {.dtype = float64})), dy = random64(shape, 4);
    const Tensor weight = parameter(random64(row, 2)), bias = parameter(random64(row, 3));
    const Tensor y = layer_norm(x, weight, bias);
    expect_near(y, values(expand(bias, shape)));
    y.backward(dy);
    expect_near(weight.grad(), std::vector<double>(static_cast<std::size_t>(row[0]), 0));
    expect_near(bias.grad(), values(sum(dy, 0)));
    // The gradient of a row is weight dy less its mean, divided by sqrt(epsilon).
    const Tensor gradient = dy * weight;
    expect_near(x.grad(), values((gradient - mean(gradient, 1, true)) / std::sqrt(1e-5)), 1e-10);
  }
}

TEST(LayerNorm, OfNothingIsNothing) {
  for (const Shape& shape : {Shape{0, 4}, Shape{3, 0}}) {
    Tensor x = parameter(zeros(shape)), weight = parameter(ones({shape[1]})), bias = parameter(ones({shape[1]}));
    const Tensor y = layer_norm(x, weight, bias);
    EXPECT_EQ(y.shape(), shape);
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), shape);
    for (const double gradient : values(weight.grad())) EXPECT_EQ(gradient, 0);
    for (const double gradient : values(bias.grad())) EXPECT_EQ(gradient, 0);
  }
}

TEST(LayerNorm, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of([&] { layer_norm(x, ones({2})); }),
            "[layer_norm] weight must have the shape of a row, (3): x (2, 3), weight (2)");
  EXPECT_EQ(message_of([&] {
              layer_norm(x, {}, ones({2, 3}));
            }),
            "[layer_norm] bias must have the shape of a row, (3): x (2, 3), bias (2, 3)");
  EXPECT_EQ(message_of([&] { layer_norm(x, {}, {}, {.axes = 3}); }),
            "[layer_norm] axes must be in [1, 2], got 3; x (2, 3)");
  EXPECT_EQ(message_of([&] { rms_norm(x, {}, {.axes = 0}); }), "[rms_norm] axes must be in [1, 2], got 0; x (2, 3)");
  EXPECT_EQ(message_of([&] { rms_norm(x, {}, {.epsilon = -1}); }),
            "[rms_norm] epsilon must be finite and not negative, got -1");
  EXPECT_EQ(message_of([&] { layer_norm(x, {}, {}, {.epsilon = nan}); }),
            "[layer_norm] epsilon must be finite and not negative, got nan");
  EXPECT_EQ(message_of([&] { layer_norm(zeros({2}, {.dtype = int64})); }),
            "[layer_norm] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_TRUE(has_parts(message_of([&] { layer_norm(x, ones({3}, {.dtype = float64})); }),
                        {"[layer_norm]", "float32", "float64"}));
  EXPECT_EQ(message_of([&] { layer_norm(Tensor()); }),
            "[layer_norm] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
