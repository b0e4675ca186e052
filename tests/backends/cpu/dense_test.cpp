#include <gtest/gtest.h>

#include <string>

#include "product_harness.h"

namespace asyncgrad::detail {
namespace {

struct Layer {
  std::int64_t samples, inputs, outputs;
};
constexpr Layer layers[] = {{1, 1, 1},     {2, 4, 4},   {2, 4, 1},       {32, 64, 64},   {32, 64, 10}, {1024, 512, 1},
                            {200, 300, 1}, {7, 33, 65}, {1, 300, 700},   {300, 1, 200},  {5, 0, 3},    {0, 4, 3},
                            {3, 4, 0},     {0, 5, 1},   {130, 257, 120}, {512, 300, 600}};
constexpr ActivationKind activations[] = {ActivationKind::none, ActivationKind::relu};

template <class T>
ProductHarness<T> dense(const Layer& layer, const DenseAttributes& attributes) {
  ProductHarness<T> harness(Op::dense, attributes);
  const Shape x{layer.samples, layer.inputs}, w{layer.inputs, layer.outputs}, bias{layer.outputs};
  harness.output({layer.samples, layer.outputs});
  harness.input(x, numbers<T>(x, 1));
  harness.input(w, numbers<T>(w, 2));
  if (attributes.has_bias) harness.input(bias, numbers<T>(bias, 3));
  return harness;
}

// The beginning of the messages of failing expectations.
std::string text(const Layer& layer, const DenseAttributes& attributes) {
  return std::to_string(layer.samples) + " x " + std::to_string(layer.inputs) + " -> " + std::to_string(layer.outputs) +
         (attributes.activation == ActivationKind::relu ? " relu" : "") + (attributes.has_bias ? " bias" : "");
}

template <class Check>
void for_all_layers(const Check& check) {
  for (const Layer& layer : layers) {
    for (const ActivationKind activation : activations) {
      for (const bool has_bias : {false, true}) {
        const DenseAttributes attributes{activation, has_bias};
        SCOPED_TRACE(text(layer, attributes));
        check(layer, attributes);
      }
    }
  }
}

template <class T>
void expect_dense_right(const Layer& layer, const DenseAttributes& attributes) {
  ProductHarness<T> harness = dense<T>(layer, attributes);
  harness.run();
  const std::vector<double> expected = reference_product(
      {layer.samples, layer.outputs, layer.inputs}, harness.values(1), harness.values(2),
      attributes.has_bias ? harness.values(3) : std::vector<T>{}, attributes.activation == ActivationKind::relu);
  EXPECT_LE(largest_difference(harness.values(0), expected), product_tolerance<T>(layer.inputs));
}

TEST(DenseTest, Float32IsTheReference) { for_all_layers(expect_dense_right<float>); }
TEST(DenseTest, Float64IsTheReference) { for_all_layers(expect_dense_right<double>); }

TEST(DenseTest, BitsDependOnNeitherThreadNorOrder) {
  for_all_layers([](const Layer& layer, const DenseAttributes& attributes) {
    ProductHarness<float> forwards = dense<float>(layer, attributes);
    forwards.run();
    for (const TileOrder order : {TileOrder::backwards, TileOrder::two_threads}) {
      ProductHarness<float> other = dense<float>(layer, attributes);
      other.run(order);
      EXPECT_TRUE(same_bits(forwards.values(0), other.values(0)));
    }
  });
}

TEST(DenseTest, ReluKeepsNotANumber) {
  for (const std::int64_t samples : {1, 40}) {
    ProductHarness<float> harness(Op::dense, DenseAttributes{ActivationKind::relu, false});
    harness.output({samples, 1});
    harness.input({samples, 2}, std::vector<float>(static_cast<std::size_t>(2 * samples), std::nanf("")));
    harness.input({2, 1}, {1.0F, 1.0F});
    harness.run();
    for (const float value : harness.values(0)) EXPECT_TRUE(std::isnan(value));
  }
}

template <class T>
ProductHarness<T> dense_grad(const Layer& layer, const DenseAttributes& attributes) {
  ProductHarness<T> harness(Op::dense_grad, attributes);
  const Shape y{layer.samples, layer.outputs};
  harness.output(y);
  if (attributes.has_bias) harness.output({layer.outputs});
  harness.input(y, numbers<T>(y, 1));
  harness.input(y, numbers<T>(y, 2));
  return harness;
}

template <class T>
void expect_dense_grad_right(const Layer& layer, const DenseAttributes& attributes) {
  ProductHarness<T> harness = dense_grad<T>(layer, attributes);
  harness.run();
  const int y = attributes.has_bias ? 2 : 1;
  std::vector<double> dz(harness.values(0).size()), dbias(static_cast<std::size_t>(layer.outputs));
  for (std::size_t i = 0; i < dz.size(); ++i) {
    const bool passes = attributes.activation == ActivationKind::none || harness.values(y)[i] > 0;
    dz[i] = passes ? static_cast<double>(harness.values(y + 1)[i]) : 0.0;
    dbias[i % dbias.size()] += dz[i];
  }
  EXPECT_EQ(largest_difference(harness.values(0), dz), 0.0);
  if (!attributes.has_bias) return;
  EXPECT_LE(largest_difference(harness.values(1), dbias), product_tolerance<T>(layer.samples));
}

TEST(DenseGradTest, Float32IsTheReference) { for_all_layers(expect_dense_grad_right<float>); }
TEST(DenseGradTest, Float64IsTheReference) { for_all_layers(expect_dense_grad_right<double>); }

TEST(DenseGradTest, BitsDependOnNeitherThreadNorOrder) {
  const Layer layer{1024, 0, 1000};
  const DenseAttributes attributes{ActivationKind::relu, true};
  ProductHarness<float> forwards = dense_grad<float>(layer, attributes);
  ASSERT_GE(forwards.tiles(), 2);
  forwards.run();
  for (const TileOrder order : {TileOrder::backwards, TileOrder::two_threads}) {
    ProductHarness<float> other = dense_grad<float>(layer, attributes);
    other.run(order);
    EXPECT_TRUE(same_bits(forwards.values(0), other.values(0)));
    EXPECT_TRUE(same_bits(forwards.values(1), other.values(1)));
  }
}

}  // namespace
}  // namespace asyncgrad::detail
