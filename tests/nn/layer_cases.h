// Every layer, with an input.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

struct LayerCase {
  const char* name;
  nn::Sequential (*make)(Generator* generator);
  Shape x{};  // rank 0: of indices below 7

  Tensor draw_input() const { return x.rank() == 0 ? randint(0, 7, {4, 2}) : parameter(randn(x)); }
  friend std::ostream& operator<<(std::ostream& out, const LayerCase& row) { return out << row.name; }
};

inline nn::RecurrentOptions drawing(Generator* generator) {
  return {.layers = 2, .both_directions = true, .dropout = 0.5, .generator = generator};
}
inline std::vector<LayerCase> layer_cases() {
  const Shape image{3, 4, 6, 6}, sequence{5, 3, 4};
  return {
      {"Dense", [](Generator*) { return nn::Sequential(nn::Dense(4, 3, gelu)); }, {5, 4}},
      {"ReLU", [](Generator*) { return nn::Sequential(nn::Dense(4, 3), nn::ReLU()); }, {5, 4}},
      {"LeakyReLU", [](Generator*) { return nn::Sequential(nn::LeakyReLU(0.25)); }, image},
      {"ELU", [](Generator*) { return nn::Sequential(nn::ELU(0.5)); }, image},
      {"PReLU", [](Generator*) { return nn::Sequential(nn::PReLU(4)); }, image},
      {"Softmax", [](Generator*) { return nn::Sequential(nn::Softmax(1)); }, image},
      {"LogSoftmax", [](Generator*) { return nn::Sequential(nn::LogSoftmax()); }, {5, 4}},
      {"Conv1d", [](Generator*) { return nn::Sequential(nn::Conv1d(3, 2, 3, relu)); }, sequence},
      {"Conv2d", [](Generator*) { return nn::Sequential(nn::Conv2d(4, 2, 3, relu, {.groups = 2})); }, image},
      {"ConvTranspose1d", [](Generator*) { return nn::Sequential(nn::ConvTranspose1d(3, 2, 3, relu)); }, sequence},
      {"ConvTranspose2d",
       [](Generator*) { return nn::Sequential(nn::ConvTranspose2d(4, 2, 3, relu, {.stride = 2, .groups = 2})); },
       image},
      {"MaxPool2d", [](Generator*) { return nn::Sequential(nn::MaxPool2d(2)); }, image},
      {"AvgPool2d", [](Generator*) { return nn::Sequential(nn::AvgPool2d(2)); }, image},
      {"MaxPool1d", [](Generator*) { return nn::Sequential(nn::MaxPool1d(2)); }, sequence},
      {"AvgPool1d", [](Generator*) { return nn::Sequential(nn::AvgPool1d(2, {.stride = 1})); }, sequence},
      {"Upsample", [](Generator*) { return nn::Sequential(nn::Upsample(2, {.mode = Interpolation::bilinear})); },
       image},
      {"Identity", [](Generator*) { return nn::Sequential(nn::Identity(), nn::Dense(4, 3)); }, {5, 4}},
      {"GlobalAvgPool2d", [](Generator*) { return nn::Sequential(nn::GlobalAvgPool2d()); }, image},
      {"BatchNorm", [](Generator*) { return nn::Sequential(nn::BatchNorm(4)); }, image},
      {"GroupNorm", [](Generator*) { return nn::Sequential(nn::GroupNorm(2, 4)); }, image},
      {"InstanceNorm", [](Generator*) { return nn::Sequential(nn::InstanceNorm(4, {.affine = true})); }, image},
      {"LayerNorm", [](Generator*) { return nn::Sequential(nn::LayerNorm(4)); }, sequence},
      {"RMSNorm", [](Generator*) { return nn::Sequential(nn::RMSNorm(4)); }, sequence},
      {"Dropout", [](Generator* generator) { return nn::Sequential(nn::Dropout(0.5, generator)); }, image},
      {"Embedding", [](Generator*) { return nn::Sequential(nn::Embedding(7, 3)); }, {}},
      {"RNN", [](Generator* generator) { return nn::Sequential(nn::RNN(4, 3, drawing(generator))); }, sequence},
      {"GRU", [](Generator* generator) { return nn::Sequential(nn::GRU(4, 3, drawing(generator))); }, sequence},
      {"LSTM", [](Generator* generator) { return nn::Sequential(nn::LSTM(4, 3, drawing(generator))); }, sequence},
      {"MultiHeadAttention", [](Generator*) { return nn::Sequential(nn::MultiHeadAttention(4, 2)); }, sequence},
      {"TransformerBlock",
       [](Generator* generator) {
         return nn::Sequential(nn::TransformerBlock(4, 2, {.causal = true, .dropout = 0.5, .generator = generator}));
       },
       sequence},
      {"TransformerDecoderBlock",
       [](Generator* generator) {
         const nn::TransformerDecoderBlockOptions options{.dropout = 0.5, .generator = generator};
         return nn::Sequential(nn::Function([block = nn::TransformerDecoderBlock(4, 2, options)](const Tensor& x) {
           const Tensor memory = flip(x, {1});
           return block(x, memory);
         }));
       },
       sequence},
      {"RNNCell", [](Generator*) { return nn::Sequential(nn::RNNCell(4, 3)); }, {5, 4}},
      {"GRUCell", [](Generator*) { return nn::Sequential(nn::GRUCell(4, 3)); }, {5, 4}},
      {"LSTMCell",
       [](Generator*) {
         return nn::Sequential(nn::Function([cell = nn::LSTMCell(4, 3)](const Tensor& x) {
           const nn::LSTMState state = cell(x);
           return cell(x, state).h + state.c;
         }));
       },
       {5, 4}},
      {"PositionalEncoding", [](Generator*) { return nn::Sequential(nn::PositionalEncoding(3, 4)); }, sequence},
      {"Residual", [](Generator*) { return nn::Sequential(nn::Residual(nn::Dense(4, 4, tanh))); }, sequence},
      {"Function", [](Generator*) { return nn::Sequential(nn::Function([](const Tensor& x) { return silu(x); })); },
       sequence},
      {"Flatten", [](Generator*) { return nn::Sequential(nn::Flatten(), nn::Dense(144, 2)); }, image},
      {"LSTM_with_lengths",
       [](Generator* generator) {
         return nn::Sequential(nn::Function([lstm = nn::LSTM(4, 3, drawing(generator))](const Tensor& x) {
           const Tensor states = zeros({4, 3, 3});
           const Tensor lengths = arange(2, 5, 1, {.dtype = int64});
           return lstm.run(x, {.lengths = lengths, .h = states, .c = states}).output;
         }));
       },
       sequence},
      {"attention_to_memory",
       [](Generator*) {
         return nn::Sequential(nn::Function([attention = nn::MultiHeadAttention(4, 2)](const Tensor& x) {
           const Tensor memory = flip(x, {1});
           return attention.attend(x, memory, {});
         }));
       },
       sequence},
      {"several_nested",
       [](Generator* generator) {
         return nn::Sequential(nn::Conv2d(4, 4, 3, relu), nn::Residual(nn::Sequential(nn::BatchNorm(4), relu)),
                               nn::Dropout(0.25, generator), nn::Flatten(), nn::Dense(64, 3));
       },
       image},
  };
}

inline std::string name_of_layer(const testing::TestParamInfo<LayerCase>& info) { return info.param.name; }

}  // namespace asyncgrad::tests
