// Layers for sequences in respects that other tests do not compare with PyTorch: initial values, edge cases and refused
// arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

std::vector<std::string> paths(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::vector<std::string> result;
  for (const auto& [path, tensor] : state) result.push_back(path);
  return result;
}

TEST(LayerNorm, BeginsWithOnesAndZeros) {
  const LayerNorm norm(Shape{2, 3});
  EXPECT_THAT(norm.weight.to_vector<float>(), Each(1));
  EXPECT_THAT(norm.bias.to_vector<float>(), Each(0));
  EXPECT_EQ(norm(randn({4, 2, 3})).shape(), Shape(4, 2, 3));
  EXPECT_EQ(parameters(LayerNorm(3, {.bias = false})).size(), 1u);
  EXPECT_THAT(message_of([] { LayerNorm(0); }), HasSubstr("[LayerNorm] needs rows with elements, got the shape (0)"));
  EXPECT_THAT(message_of([] { LayerNorm(3, {.epsilon = -1}); }),
              HasSubstr("epsilon must be finite and not negative, got -1"));
  EXPECT_THAT(message_of([] { RMSNorm(3, {.dtype = int64}); }),
              HasSubstr("[RMSNorm] must be of type float32 or float64, got int64"));
  EXPECT_THAT(message_of([&] { norm(randn({4, 3})); }), HasSubstr("[layer_norm] weight must have the shape of a row"));
}

// The padding has no part in the loss, so it has none in the gradients, whichever way these are computed.
TEST(RecurrentLayers, PaddingMayHoldNotANumber) {
  const auto gradients = [](auto layer, float padding, bool create_graph) {
    Tensor x = ones({4, 2, 3});
    {
      const NoGrad no_grad;
      slice(slice(x, 0, 2, 4), 1, 1, 2).copy_(full({2, 1, 3}, padding));
    }
    x.requires_grad_();
    const Tensor loss = sum(square(layer.run(x, {.lengths = Tensor::from<std::int64_t>({4, 2}, {2})}).output));
    std::vector<Tensor> wanted = parameters(layer);
    wanted.push_back(x);
    std::vector<float> all;
    for (const Tensor& g : grad(loss, wanted, {}, {.create_graph = create_graph})) {
      const std::vector<float> values = g.detach().template to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const auto check = [&](const auto& layer) {
    for (const bool create_graph : {false, true}) {
      const std::vector<float> found = gradients(layer, std::numeric_limits<float>::quiet_NaN(), create_graph);
      EXPECT_EQ(found, gradients(layer, 5, create_graph));
      EXPECT_TRUE(std::ranges::none_of(found, [](float g) { return std::isnan(g); }));
    }
  };
  check(RNN(3, 4, {.both_directions = true}));
  check(GRU(3, 4));
  check(LSTM(3, 4, {.layers = 2}));
}

TEST(Dropout, DropsInTrainingAlone) {
  Generator generator(1);
  const Dropout dropout(0.5, &generator);
  const Tensor x = ones({1000});
  EXPECT_THAT(dropout(x).to_vector<float>(), testing::Contains(0));
  const Evaluation evaluation;
  EXPECT_THAT(dropout(x).to_vector<float>(), Each(1));
  EXPECT_EQ(generator.place(), 250u);
  EXPECT_THAT(message_of([] { Dropout(-0.5); }), HasSubstr("[Dropout] p must be in [0, 1], got -0.5"));
}

TEST(Embedding, SharesItsWeightWithTheScores) {
  Embedding embedding(3, 2);
  {
    const NoGrad no_grad;
    embedding.weight.copy_(Tensor::from({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {3, 2}));
  }
  const Tensor rows = embedding(Tensor::from(std::vector<std::int64_t>{2, 0}, {2}));
  EXPECT_THAT(rows.to_vector<float>(), ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(embedding.scores(ones({1, 2})).to_vector<float>(), ElementsAre(3, 7, 11));
  EXPECT_THAT(message_of([] { Embedding(0, 2); }), HasSubstr("[Embedding] count must be at least 1, got 0"));
  EXPECT_THAT(message_of([&] { embedding(ones({2})); }), HasSubstr("must be int64"));
  EXPECT_THAT(message_of([&] { embedding(Tensor::from(std::vector<std::int64_t>{3}, {1})).wait(); }), HasSubstr("3"));
  recover();
}

TEST(LSTM, BeginsUniformAndNamesItsWeights) {
  const LSTM lstm(3, 4, {.layers = 2, .both_directions = true});
  EXPECT_EQ(lstm.weights[0].weight_ih.shape(), Shape(3, 16));
  EXPECT_EQ(lstm.weights[2].weight_ih.shape(), Shape(8, 16));
  EXPECT_EQ(lstm.weights[3].weight_hh.shape(), Shape(4, 16));
  EXPECT_EQ(state(lstm).size(), 16u);
  EXPECT_EQ(paths(state(lstm))[1], "weights.0.weight_hh");
  for (const Tensor& parameter : parameters(lstm)) {
    EXPECT_THAT(parameter.to_vector<float>(), Each(testing::AllOf(testing::Ge(-0.5), testing::Le(0.5))));
  }
  EXPECT_EQ(parameters(GRU(3, 4, {.bias = false})).size(), 2u);
}

TEST(LSTM, GivesOutputAndLastStates) {
  const LSTM lstm(3, 4, {.layers = 2, .both_directions = true});
  const RecurrentResult result = lstm.run(randn({5, 2, 3}));
  EXPECT_EQ(result.output.shape(), Shape(5, 2, 8));
  EXPECT_EQ(result.h.shape(), Shape(4, 2, 4));
  EXPECT_EQ(result.c.shape(), Shape(4, 2, 4));
  EXPECT_EQ(lstm(randn({5, 0, 3})).shape(), Shape(5, 0, 8));
  EXPECT_FALSE(GRU(3, 4).run(randn({5, 2, 3})).c.defined());
}

// A sequence in a batch of longer ones has the same results as alone, and zeros after its end.
TEST(GRU, StopsAtTheLengths) {
  const auto near = [](const Tensor& x) {
    return testing::Pointwise(testing::DoubleNear(1e-14), x.to_vector<double>());
  };
  const GRU gru(3, 4, {.layers = 2, .both_directions = true, .dtype = float64});
  const Tensor x = randn({5, 2, 3}, {.dtype = float64});
  const Tensor lengths = Tensor::from(std::vector<std::int64_t>{5, 3}, {2});
  const RecurrentResult both = gru.run(x, {.lengths = lengths});
  const RecurrentResult alone = gru.run(slice(slice(x, 1, 1, 2), 0, 0, 3));
  EXPECT_THAT(slice(slice(both.output, 1, 1, 2), 0, 0, 3).to_vector<double>(), near(alone.output));
  EXPECT_THAT(slice(slice(both.output, 1, 1, 2), 0, 3, 5).to_vector<double>(), Each(0));
  EXPECT_THAT(slice(both.h, 1, 1, 2).to_vector<double>(), near(alone.h));
}

// The states before the first step are made of x's type and on its device, whatever the layer was made with.
TEST(LSTM, MayBeMovedToAnotherTypeAndDevice) {
  set_engine_options({.workers = 2, .cpu_parts = 2});
  {
    const LSTM here(2, 3);
    const Tensor x = randn({4, 5, 2});
    const std::vector<float> expected = here(x).to_vector<float>();
    const RecurrentResult there = nn::to(here, "cpu:1").run(x.to("cpu:1"));
    EXPECT_EQ(there.h.device(), Device("cpu:1"));
    EXPECT_EQ(there.output.to_vector<float>(), expected);
    LSTM wide(2, 3);
    for (RecurrentWeights& w : wide.weights) {
      for (Tensor* tensor : {&w.weight_ih, &w.weight_hh, &w.bias_ih, &w.bias_hh}) *tensor = tensor->to(float64);
    }
    const Tensor zero = zeros({1, 5, 3}, {.dtype = float64});
    EXPECT_EQ(wide(x.to(float64)).to_vector<double>(),
              wide.run(x.to(float64), {.h = zero, .c = zero}).output.to_vector<double>());
    wide.weights[0].weight_hh = wide.weights[0].weight_hh.to(float32);
    EXPECT_THAT(message_of([&] { wide(x.to(float64)); }),
                HasSubstr("[LSTM] weights.0.weight_hh must be float64 (3, 12) on cpu"));
  }
  set_engine_options({});
}

TEST(RNN, WithANaNKeepsItInItsSequence) {
  for (const auto activation : {RnnActivation::tanh, RnnActivation::relu}) {
    const RNN rnn(1, 3, {}, activation);
    const Tensor x = Tensor::from({1.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f, 1.0f}, {2, 2, 1});
    const std::vector<float> y = rnn(x).to_vector<float>();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 3 % 2 == 1) << i;
  }
}

TEST(GRU, TakesWeightsOfTheProgram) {
  const GRU gru(3, 4, {.layers = 2, .both_directions = true});
  const Tensor x = randn({5, 2, 3});
  const GRU same(gru.weights, {.both_directions = true});
  EXPECT_EQ(same.options.layers, 2);
  EXPECT_EQ(same(x).to_vector<float>(), gru(x).to_vector<float>());
  EXPECT_EQ(LSTM(LSTM(3, 4).weights)(x).shape(), Shape(5, 2, 4));
}

TEST(GRU, ChecksWeightsThatWereReplaced) {
  const Tensor x = ones({5, 2, 3});
  EXPECT_THAT(message_of([&] { GRU(std::vector<RecurrentWeights>())(x); }), HasSubstr("[GRU] needs weights"));
  const GRU gru(3, 4, {.layers = 2});
  GRU wrong = gru;
  wrong.weights[1].weight_hh = ones({4, 11});
  EXPECT_THAT(message_of([&] { wrong(x); }), HasSubstr("[GRU] weights.1.weight_hh must be float32 (4, 12) on cpu"));
  wrong = gru;
  wrong.weights[0].weight_ih = ones({12});
  EXPECT_THAT(message_of([&] { wrong(x); }), HasSubstr("with two axes, got (12) and (4, 12)"));
  wrong = gru;
  wrong.weights[0].bias_hh = Tensor();
  EXPECT_THAT(message_of([&] { wrong(x); }), HasSubstr("both of the biases or none"));
  wrong = gru;
  wrong.weights.pop_back();
  EXPECT_THAT(message_of([&] { wrong(x); }), HasSubstr("each of 2 layers in 1 directions, got 1"));
}

TEST(RNN, RefusesWhatDoesNotFit) {
  EXPECT_THAT(message_of([] { RNN(0, 3); }), HasSubstr("[RNN] in_features must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { LSTM(2, 3, {.layers = 0}); }), HasSubstr("[LSTM] layers must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { GRU(2, 3, {.dtype = int64}); }),
              HasSubstr("[GRU] must be of type float32 or float64, got int64"));
  EXPECT_THAT(message_of([] { GRU(2, 3, {.dropout = 2}); }), HasSubstr("[GRU] dropout must be in [0, 1], got 2"));
  const RNN rnn(2, 3);
  EXPECT_THAT(message_of([&] {
                rnn(ones({4, 2}));
              }),
              HasSubstr("[RNN] needs x (T, N, 2), time first, with T > 0, got (4, 2)"));
  EXPECT_THAT(message_of([&] { rnn(ones({0, 4, 2})); }), HasSubstr("got (0, 4, 2)"));
  const Tensor x = ones({4, 5, 2});
  EXPECT_THAT(message_of([&] {
                rnn.run(x, {.h = ones({1, 4, 3})});
              }),
              HasSubstr("[RNN] h must be float32 (1, 5, 3): h float32 (1, 4, 3)"));
  EXPECT_THAT(message_of([&] { rnn.run(x, {.c = ones({1, 5, 3})}); }), HasSubstr("[RNN] has no state c"));
  EXPECT_THAT(message_of([&] { rnn.run(x, {.lengths = ones({5})}); }),
              HasSubstr("[RNN] lengths must be int64 (5) on cpu: lengths float32 (5) on cpu, x (4, 5, 2)"));
  EXPECT_THAT(message_of([&] { rnn(ones({4, 5, 2}, {.dtype = float64})); }), HasSubstr("float64"));
  const Tensor lengths = Tensor::from(std::vector<std::int64_t>{1, 2, 5, 0, 0}, {5});
  EXPECT_THAT(message_of([&] { rnn.run(x, {.lengths = lengths}).output.wait(); }),
              HasSubstr("length 5 at position 2 is outside of 0 to 4"));
  recover();
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFit) {
  EXPECT_THAT(message_of([] { MultiHeadAttention(6, 4); }),
              HasSubstr("[MultiHeadAttention] heads must divide features, got 4 heads for 6"));
  EXPECT_THAT(message_of([] { MultiHeadAttention(0, 0); }), HasSubstr("features must be at least 1, got 0"));
  const MultiHeadAttention attention(4, 2);
  EXPECT_THAT(message_of([&] {
                attention(ones({3, 4}));
              }),
              HasSubstr("[MultiHeadAttention] needs (N, T, 4) and (N, S, 4), got (3, 4), (3, 4)"));
  EXPECT_THAT(message_of([&] { attention.attend(ones({2, 3, 4}), ones({1, 3, 4}), {}); }), HasSubstr("(1, 3, 4)"));
  EXPECT_EQ(attention(ones({2, 0, 4})).shape(), Shape(2, 0, 4));
}

TEST(TransformerBlock, DropsInTrainingAlone) {
  Generator generator(1);
  const TransformerBlock block(4, 2, {.dropout = 0.5, .generator = &generator});
  const Tensor x = randn({2, 3, 4});
  EXPECT_NE(block(x).to_vector<float>(), block(x).to_vector<float>());
  const Evaluation evaluation;
  EXPECT_EQ(block(x).to_vector<float>(), block(x).to_vector<float>());
  EXPECT_EQ(state(block).size(), 12u);
  EXPECT_THAT(message_of([] { TransformerBlock(0, 1); }),
              HasSubstr("[TransformerBlock] features must be at least 1, got 0"));
}

TEST(PositionalEncoding, IsSinesAndCosines) {
  const PositionalEncoding encoding(10, 4, {.dtype = float64});
  const std::vector<double> y = encoding(zeros({1, 3, 4}, {.dtype = float64})).to_vector<double>();
  for (std::size_t t = 0; t < 3; ++t) {
    const double time = static_cast<double>(t);
    EXPECT_NEAR(y[4 * t], std::sin(time), 1e-15);
    EXPECT_NEAR(y[4 * t + 1], std::cos(time), 1e-15);
    EXPECT_NEAR(y[4 * t + 2], std::sin(time / 100), 1e-15);
    EXPECT_NEAR(y[4 * t + 3], std::cos(time / 100), 1e-15);
  }
  EXPECT_TRUE(parameters(encoding).empty());
  EXPECT_THAT(message_of([&] { encoding(zeros({11, 4})); }), HasSubstr("with T up to 10, got (11, 4)"));
  EXPECT_THAT(message_of([] { PositionalEncoding(0, 4); }), HasSubstr("max_length must be at least 1, got 0"));
}

TEST(Function, TakesCaptures) {
  const Tensor two = full({1}, 2);
  Sequential net{Function([two](const Tensor& x) { return x * two; }), Residual(Dense(2, 2))};
  EXPECT_THAT(net.at<Function>(0)(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(paths(state(net)), ElementsAre("1.layer.weight", "1.layer.bias"));
  EXPECT_THAT(tests::whole_message_of([] { Function{silu}(zeros({2}, {.dtype = int64})); }),
              HasSubstr(", at sequence_layers_test.cpp:"));
  EXPECT_THAT(message_of([] { Function(std::function<Tensor(const Tensor&)>()); }),
              HasSubstr("[Function] there is no function"));
}

}  // namespace
}  // namespace asyncgrad::nn
