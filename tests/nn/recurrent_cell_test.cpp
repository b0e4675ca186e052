#include "asyncgrad/nn/recurrent_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::DoubleNear, testing::HasSubstr, testing::Pointwise;
using tests::message_of;

Tensor values(const Shape& shape) { return sin(arange(0, shape.numel()).reshape(shape)); }

// A layer with the weights of a cell.
template <class Layer, class Cell>
Layer layer_of(const Cell& cell) {
  return Layer(std::vector<RecurrentWeights>{cell});
}

template <class Layer, class Cell>
void check_step(const Cell& cell) {
  const Layer layer = layer_of<Layer>(cell);
  const Tensor x = values({5, 4}), h = values({5, 3}), sequence = x.reshape({1, 5, 4});
  EXPECT_EQ(cell(x).template to_vector<float>(), layer(sequence).template to_vector<float>());
  EXPECT_EQ(cell(x, h).template to_vector<float>(),
            layer.run(sequence, {.h = h.reshape({1, 5, 3})}).h.template to_vector<float>());
}

TEST(RecurrentCell, HasTheBitsOfAStepOfTheLayer) {
  check_step<RNN>(RNNCell(4, 3));
  check_step<RNN>(RNNCell(4, 3, {.bias = false}));
  check_step<GRU>(GRUCell(4, 3));
  check_step<GRU>(GRUCell(4, 3, {.bias = false}));
  const RNNCell relus(4, 3, {}, RnnActivation::relu);
  const RNN layer({relus}, {}, RnnActivation::relu);
  EXPECT_EQ(relus(values({5, 4})).to_vector<float>(), layer(values({1, 5, 4})).to_vector<float>());
}

TEST(RecurrentCell, AnLstmHasTwoStates) {
  const LSTMCell cell(4, 3);
  const LSTM layer = layer_of<LSTM>(cell);
  const Tensor x = values({5, 4}), h = values({5, 3}), c = values({5, 3}) * 2;
  const LSTMState state = cell(x, {.h = h, .c = c});
  const RecurrentResult result =
      layer.run(x.reshape({1, 5, 4}), {.h = h.reshape({1, 5, 3}), .c = c.reshape({1, 5, 3})});
  EXPECT_EQ(state.h.to_vector<float>(), result.h.to_vector<float>());
  EXPECT_EQ(state.c.to_vector<float>(), result.c.to_vector<float>());
  EXPECT_EQ(state.h.shape(), Shape(5, 3));
}

// A loop of steps computes and differentiates as the layer does.
TEST(RecurrentCell, ALoopIsALayer) {
  const LSTMCell cell(2, 3, {.dtype = float64});
  const LSTM layer = layer_of<LSTM>(clone(cell));
  const Tensor x = sin(arange(0, 24, 1, {.dtype = float64}).reshape({4, 3, 2}));
  LSTMState state;
  Tensor total = zeros({3, 3}, {.dtype = float64});
  for (int t = 0; t < 4; ++t) {
    state = cell(x[t], state);
    total = total + state.h;
  }
  sum(square(total)).backward();
  sum(square(sum(layer(x), 0))).backward();
  const std::vector<Tensor> of_cell = parameters(cell), of_layer = parameters(layer);
  ASSERT_EQ(of_cell.size(), 4U);
  for (std::size_t i = 0; i < of_cell.size(); ++i) {
    EXPECT_THAT(of_cell[i].grad().to_vector<double>(),
                Pointwise(DoubleNear(1e-12), of_layer[i].grad().to_vector<double>()));
  }
}

TEST(RecurrentCell, NamesItsWeights) {
  const auto state_of = state(GRUCell(4, 3));
  ASSERT_EQ(state_of.size(), 4U);
  EXPECT_EQ(state_of[0].first, "weight_ih");
  EXPECT_EQ(state_of[0].second.shape(), Shape(4, 9));
  EXPECT_EQ(state(GRUCell(4, 3, {.bias = false})).size(), 2U);
}

TEST(RecurrentCell, SaysWhatDoesNotFit) {
  GRUCell cell(4, 3);
  EXPECT_THAT(message_of([&] { cell(ones({1, 5, 4})); }), HasSubstr("[GRUCell] needs x (N, 4), got (1, 5, 4)"));
  EXPECT_THAT(message_of([&] { cell(ones({5, 2})); }), HasSubstr("[GRUCell] needs x (N, 4), got (5, 2)"));
  EXPECT_THAT(message_of([&] {
                cell(ones({5, 4}, {.dtype = float64}));
              }),
              HasSubstr("[GRUCell] weight_ih must be float64 (4, 9) on cpu, as x is: it is float32 (4, 9) on cpu"));
  EXPECT_THAT(message_of([&] { cell(ones({5, 4}), ones({5, 4})); }), HasSubstr("[GRUCell] h must be float32 (5, 3)"));
  EXPECT_THAT(message_of([&] {
                LSTMCell(4, 3)(ones({5, 4}), {.c = ones({3})});
              }),
              HasSubstr("[LSTMCell] c must be float32 (5, 3)"));
  cell.bias_hh = Tensor();
  EXPECT_THAT(message_of([&] { cell(ones({5, 4})); }), HasSubstr("both of the biases or none"));
  EXPECT_THAT(message_of([] { RNNCell(0, 3); }), HasSubstr("[RNNCell] in_features must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { LSTMCell(1, 1, {.dtype = int64}); }),
              HasSubstr("[LSTMCell] must be of type float32 or float64, got int64"));
}

}  // namespace
}  // namespace asyncgrad::nn
