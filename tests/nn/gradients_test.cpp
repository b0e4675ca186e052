// Every layer and every loss: a new one is a new row.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/check_gradients.h"
#include "tests/nn/scale.h"

namespace asyncgrad::nn {
namespace {

Tensor random_leaf(const Shape& shape, Generator& generator) {
  return parameter(randn(shape, {.dtype = float64, .generator = &generator}));
}

struct LayerRow {
  std::string name;
  std::function<Tensor(const Tensor&)> layer;
  std::vector<Tensor> parameters;
  Shape input;
  friend std::ostream& operator<<(std::ostream& out, const LayerRow& row) { return out << row.name; }
};

// Every parameter gets random values, because zeros would hide errors.
template <class Layer>
LayerRow row(std::string name, Layer layer, const Shape& input) {
  Generator generator(2);
  std::vector<Tensor> found = parameters(layer);
  const NoGrad no_grad;
  for (Tensor& tensor : found) tensor.copy_(randn(tensor.shape(), {.dtype = float64, .generator = &generator}));
  return {std::move(name), layer, found, input};
}

std::vector<LayerRow> layer_rows() {
  constexpr DType f64 = float64;
  Scale scale{.weight = parameter(ones({1}, {.dtype = f64}))};
  Sequential inner{Dense(3, 4, relu, {.dtype = f64}), scale};
  Sequential nested;
  nested.add(inner).add(Dense(4, 2, tanh, {.dtype = f64}));
  return {
      row("dense", Dense(3, 2, nullptr, {.dtype = f64}), {4, 3}),
      row("dense_relu", Dense(3, 5, relu, {.dtype = f64}), {4, 3}),
      row("dense_sigmoid", Dense(3, 2, sigmoid, {.dtype = f64}), {4, 3}),
      row("dense_tanh", Dense(3, 2, tanh, {.dtype = f64}), {4, 3}),
      row("dense_without_bias", Dense(3, 2, nullptr, {.bias = false, .dtype = f64}), {4, 3}),
      row("dense_relu_without_bias", Dense(3, 5, relu, {.bias = false, .dtype = f64}), {4, 3}),
      row("dense_of_one", Dense(3, 1, nullptr, {.dtype = f64}), {1, 3}),
      row("dense_of_three_axes", Dense(3, 2, tanh, {.dtype = f64}), {2, 2, 3}),
      row("flatten", Flatten(), {2, 3, 2}),
      row("layer_norm", LayerNorm(Shape{2, 3}, {.dtype = f64}), {2, 2, 3}),
      row("layer_norm_without_bias", LayerNorm(3, {.bias = false, .dtype = f64}), {2, 3}),
      row("rms_norm", RMSNorm(3, {.dtype = f64}), {2, 3}),
      row("dropout", Dropout(0), {2, 3}),
      row("rnn", RNN(2, 3, {.layers = 2, .dtype = f64}), {3, 2, 2}),
      row("rnn_without_bias", RNN(2, 3, {.bias = false, .dtype = f64}), {3, 2, 2}),
      row("gru", GRU(2, 3, {.both_directions = true, .dtype = f64}), {3, 2, 2}),
      row("gru_without_bias", GRU(2, 3, {.bias = false, .dtype = f64}), {1, 2, 2}),
      row("lstm", LSTM(2, 3, {.layers = 2, .both_directions = true, .dtype = f64}), {3, 2, 2}),
      row("multi_head_attention", MultiHeadAttention(4, 2, {.bias = false, .dtype = f64}), {2, 3, 4}),
      row("transformer_block", TransformerBlock(4, 2, {.hidden_features = 5, .causal = true, .dtype = f64}), {2, 3, 4}),
      row("positional_encoding", PositionalEncoding(5, 4, {.dtype = f64}), {2, 3, 4}),
      row("residual", Residual(Dense(3, 3, tanh, {.dtype = f64})), {2, 3}),
      row("function", Function([scale](const Tensor& x) { return square(x) + scale(x); }), {2, 3}),
      row("user_layer", scale, {2, 3}),
      row("sequential", inner, {4, 3}),
      row("sequential_nested", nested, {4, 3}),
      row("sequential_of_functions", Sequential{sigmoid, [](const Tensor& x) { return x * x; }}, {2, 3}),
      row("sequential_same_layer_twice", Sequential{scale, tanh, scale}, {2, 3}),
  };
}

class LayerGradients : public testing::TestWithParam<LayerRow> {};

TEST_P(LayerGradients, AreThoseOfDifferences) {
  Generator generator(3);
  const LayerRow& row = GetParam();
  const Tensor x = random_leaf(row.input, generator);
  std::vector<Tensor> leaves = row.parameters;
  leaves.push_back(x);
  tests::check_gradients([&] { return row.layer(x); }, leaves);
}

TEST_P(LayerGradients, HaveTheGradientsOfDifferences) {
  Generator generator(3);
  const LayerRow& row = GetParam();
  std::vector<Tensor> leaves = row.parameters;
  leaves.push_back(random_leaf(row.input, generator));
  const auto sum_of_gradients = [&] {
    const Tensor y = sum(square(row.layer(leaves.back())));
    Tensor total = zeros({}, {.dtype = float64});
    for (const Tensor& gradient : grad(y, leaves, {}, {.create_graph = true})) {
      // The elements get different weights, so that errors do not cancel.
      const Tensor weights = sin(arange(1, 1 + gradient.numel(), 1, {.dtype = float64}));
      total = total + sum(gradient.reshape({gradient.numel()}) * weights);
    }
    return total;
  };
  tests::check_gradients(sum_of_gradients, leaves);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerGradients, testing::ValuesIn(layer_rows()),
                         [](const auto& info) { return info.param.name; });

struct LossRow {
  std::string name;
  Tensor (*loss)(const Arg&, const Arg&);
  Shape prediction, label;
  bool classes = false;  // labels are class indices
  friend std::ostream& operator<<(std::ostream& out, const LossRow& row) { return out << row.name; }
};

const LossRow loss_rows[] = {
    {"l2", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, {5}, {5}},
    {"l2_column", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, {5, 1}, {5}},
    {"l2_matrix", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, {3, 2}, {3, 2}},
    {"l2_images", [](const Arg& x, const Arg& y) { return l2_loss(x, y); }, {2, 3, 2}, {12}},
    {"squared_error", [](const Arg& x, const Arg& y) { return squared_error(x, y); }, {5}, {5}},
    {"squared_error_column", [](const Arg& x, const Arg& y) { return squared_error(x, y); }, {5, 1}, {5}},
    {"squared_error_images", [](const Arg& x, const Arg& y) { return squared_error(x, y); }, {2, 3, 2}, {2, 6}},
    {"squared_error_mean_of_some",
     [](const Arg& x, const Arg& y) {
       return squared_error(
           x, y, {.reduction = Reduction::mean, .weight = arange(1, 4, 1, {.dtype = float64}), .mask = y > 0});
     },
     {2, 3},
     {2, 3}},
    {"l1_sum", [](const Arg& x, const Arg& y) { return l1_loss(x, y, {.reduction = Reduction::sum}); }, {2, 3}, {2, 3}},
    {"huber", [](const Arg& x, const Arg& y) { return huber_loss(x, y, {.delta = 0.5}); }, {4, 3}, {4, 3}},
    {"binary_cross_entropy", [](const Arg& x, const Arg& y) { return binary_cross_entropy(x, y); }, {4, 3}, {4, 3}},
    {"binary_cross_entropy_weighted",
     [](const Arg& x, const Arg& y) {
       return binary_cross_entropy(x, y, {.positive_weight = arange(1, 4, 1, {.dtype = float64})});
     },
     {4, 3},
     {4, 3}},
    {"kl_divergence", [](const Arg& x, const Arg& y) { return kl_divergence(x, softmax(y)); }, {4, 3}, {4, 3}},
    {"softmax_cross_entropy",
     [](const Arg& x, const Arg& y) { return softmax_cross_entropy(x, y); },
     {3, 4},
     {3},
     true},
    {"softmax_cross_entropy_column",
     [](const Arg& x, const Arg& y) { return softmax_cross_entropy(x, y); },
     {3, 4},
     {3, 1},
     true},
    {"softmax_cross_entropy_of_planes",
     [](const Arg& x, const Arg& y) {
       return softmax_cross_entropy(x, y, {.reduction = Reduction::mean, .ignore_index = 2});
     },
     {2, 7, 3},
     {2, 3},
     true},
    {"softmax_cross_entropy_smoothed",
     [](const Arg& x, const Arg& y) {
       return softmax_cross_entropy(x, y,
                                    {.reduction = Reduction::mean,
                                     .class_weight = arange(1, 5, 1, {.dtype = float64}),
                                     .label_smoothing = 0.25});
     },
     {3, 4},
     {3},
     true},
    {"softmax_cross_entropy_of_probabilities",
     [](const Arg& x, const Arg& y) { return softmax_cross_entropy(x, y, {.label_smoothing = 0.125}); },
     {3, 4},
     {3, 4}},
    {"nll_loss", [](const Arg& x, const Arg& y) { return nll_loss(x, y); }, {3, 4}, {3}, true},
    {"cosine_similarity", [](const Arg& x, const Arg& y) { return cosine_similarity(x, y); }, {3, 4}, {3, 4}},
    {"cosine_loss",
     [](const Arg& x, const Arg& y) {
       return cosine_loss(x, y, Tensor::from<double>({1, -1, 1}, {3}), {.margin = -0.5});
     },
     {3, 4},
     {3, 4}},
};

class LossGradients : public testing::TestWithParam<LossRow> {};

TEST_P(LossGradients, AreThoseOfDifferences) {
  Generator generator(3);
  const LossRow& row = GetParam();
  const Tensor x = random_leaf(row.prediction, generator);
  const Tensor y = row.classes ? arange(0, row.label.numel(), 1, {.dtype = int64}).reshape(row.label)
                               : random_leaf(row.label, generator);
  const std::vector<Tensor> leaves = row.classes ? std::vector{x} : std::vector{x, y};
  tests::check_gradients([&] { return row.loss(x, y); }, leaves);
}

INSTANTIATE_TEST_SUITE_P(Losses, LossGradients, testing::ValuesIn(loss_rows),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace asyncgrad::nn
