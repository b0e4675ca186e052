// Recurrent layers, their cells, attention and transformers.
#include <cstdint>
#include <string>
#include <vector>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

void values() {
  layer("nn.RNN(4, 3, layers=2, dropout=0.5, activation='relu')", {3, 2, 4},
        [] { return nn::RNN(4, 3, {.layers = 2, .dropout = 0.5}, nn::RnnActivation::relu); });
  layer("nn.GRU(in_features=4, hidden_features=3, both_directions=True)", {3, 2, 4},
        [] { return nn::GRU(4, 3, {.both_directions = true}); });
  layer("nn.LSTM(4, 3, bias=False)", {3, 2, 4}, [] { return nn::LSTM(4, 3, {.bias = false}); });
  layer("nn.MultiHeadAttention(4, 2, causal=True)", {2, 3, 4},
        [] { return nn::MultiHeadAttention(4, 2, {.causal = true}); });
  layer("nn.TransformerBlock(4, 2, hidden_features=5, activation='relu', norm_first=False)", {2, 3, 4},
        [] { return nn::TransformerBlock(4, 2, {.hidden_features = 5, .norm_first = false, .activation = ag::relu}); });
  layer("nn.PositionalEncoding(max_length=5, features=4)", {2, 3, 4}, [] { return nn::PositionalEncoding(5, 4); });
  layer("nn.RNNCell(4, 3)", {2, 4}, [] { return nn::RNNCell(4, 3); });
  layer_with(
      "nn.RNNCell(in_features=4, hidden_features=3, bias=False, activation='relu')", "input((2, 4)), input((2, 3))",
      [] { return nn::RNNCell(4, 3, {.bias = false}, nn::RnnActivation::relu); }, input({2, 4}), input({2, 3}));
  layer_with(
      "nn.GRUCell(4, 3)", "input((2, 4)), input((2, 3))", [] { return nn::GRUCell(4, 3); }, input({2, 4}),
      input({2, 3}));
  layer_with(
      "nn.LSTMCell(4, 3)", "input((2, 4))", [] { return nn::LSTMCell(4, 3); }, input({2, 4}));
  layer_with(
      "nn.LSTMCell(4, 3)", "input((2, 4)), input((2, 3)), input((2, 3)) * 2", [] { return nn::LSTMCell(4, 3); },
      input({2, 4}), nn::LSTMState{.h = input({2, 3}), .c = input({2, 3}) * 2});
  layer_with(
      "nn.TransformerDecoderBlock(4, 2)", "input((2, 3, 4)), input((2, 5, 4))",
      [] { return nn::TransformerDecoderBlock(4, 2); }, input({2, 3, 4}), input({2, 5, 4}));
  layer_with(
      "nn.TransformerDecoderBlock(4, 2, hidden_features=5, causal=False, activation='relu', norm_first=False)",
      "input((2, 3, 4)), input((2, 5, 4)), input((3, 3)), input((3, 5)) > 0",
      [] {
        return nn::TransformerDecoderBlock(
            4, 2, {.causal = false, .hidden_features = 5, .norm_first = false, .activation = ag::relu});
      },
      input({2, 3, 4}), input({2, 5, 4}), nn::DecoderMasks{.mask = input({3, 3}), .memory_mask = input({3, 5}) > 0});
}

// The results of layers beside those of their call.
void methods() {
  value("nn.MultiHeadAttention(4, 2).attend(input((2, 3, 4)), input((2, 5, 4)))", [] {
    return hex(nn::MultiHeadAttention(4, 2).attend(input({2, 3, 4}), input({2, 5, 4}), {}));
  });
  value("nn.MultiHeadAttention(4, 2).attend(x=input((2, 3, 4)), memory=input((2, 5, 4)), mask=input((2, 2, 3, 5)))",
        [] {
          return hex(nn::MultiHeadAttention(4, 2).attend(input({2, 3, 4}), input({2, 5, 4}), input({2, 2, 3, 5})));
        });
  const auto run = [](const std::string& python, const auto& make) {
    value(python + ".run(input((3, 2, 4)))", [&] { return hex(make().run(input({3, 2, 4}))); });
    value(python + ".run(x=input((3, 2, 4)), lengths=ag.array([3, 1]), h=input((1, 2, 3)))", [&] {
      const ag::Tensor lengths = ag::Tensor::from(std::vector<std::int64_t>{3, 1}, {2});
      return hex(make().run(input({3, 2, 4}), {.lengths = lengths, .h = input({1, 2, 3})}));
    });
  };
  run("nn.RNN(4, 3)", [] { return nn::RNN(4, 3); });
  run("nn.GRU(4, 3)", [] { return nn::GRU(4, 3); });
  run("nn.LSTM(4, 3)", [] { return nn::LSTM(4, 3); });
  value("nn.LSTM(4, 3).run(input((3, 2, 4)), c=input((1, 2, 3)))", [] {
    return hex(nn::LSTM(4, 3).run(input({3, 2, 4}), {.c = input({1, 2, 3})}));
  });
  value("nn.LSTM(4, 3).run(input((3, 2, 4)), h=input((2, 2, 3)))", [] {
    return hex(nn::LSTM(4, 3).run(input({3, 2, 4}), {.h = input({2, 2, 3})}));
  });
}

void wrong() {
  refused("nn.RNN(1, 1, activation='gelu')", [] { return nn::RNN(1, 1, {}, nn::rnn_activation_named("gelu")); });
  refused("nn.LSTM(1, 1, layers=0)", [] { return nn::LSTM(1, 1, {.layers = 0}); });
  refused("nn.RNNCell(0, 1)", [] { return nn::RNNCell(0, 1); });
  refused("nn.GRUCell(2, 3)(input((2, 3)))", [] { return nn::GRUCell(2, 3)(input({2, 3})); });
  refused("nn.GRUCell(2, 3)(input((2, 2)), input((2, 2)))", [] {
    return nn::GRUCell(2, 3)(input({2, 2}), input({2, 2}));
  });
  refused("nn.LSTMCell(2, 3)(input((1, 2, 2)))", [] { return nn::LSTMCell(2, 3)(input({1, 2, 2})); });
  refused("nn.TransformerDecoderBlock(0, 2)", [] { return nn::TransformerDecoderBlock(0, 2); });
  refused("nn.MultiHeadAttention(6, 4)", [] { return nn::MultiHeadAttention(6, 4); });
  refused("nn.TransformerBlock(4, 2, hidden_features=-1)",
          [] { return nn::TransformerBlock(4, 2, {.hidden_features = -1}); });
  refused("nn.PositionalEncoding(0, 4)", [] { return nn::PositionalEncoding(0, 4); });
}

void all_defaults() {
  const nn::RecurrentOptions recurrent;
  std::vector<Default> of_recurrent{{"layers", recurrent.layers},
                                    {"both_directions", recurrent.both_directions},
                                    {"bias", recurrent.bias},
                                    {"dropout", recurrent.dropout}};
  for (const char* name : {"nn.GRU", "nn.LSTM"}) defaults(name, of_recurrent);
  of_recurrent.emplace_back("activation", nn::RNN(1, 1).activation);
  defaults("nn.RNN", of_recurrent);
  const nn::RecurrentCellOptions cell;
  for (const char* name : {"nn.GRUCell", "nn.LSTMCell"}) defaults(name, {{"bias", cell.bias}});
  defaults("nn.RNNCell", {{"bias", cell.bias}, {"activation", nn::RNNCell(1, 1).activation}});
  const nn::MultiHeadAttentionOptions attention;
  defaults("nn.MultiHeadAttention",
           {{"causal", attention.causal}, {"bias", attention.bias}, {"initialiser", attention.initialiser}});
  const auto of_block = [](const char* name, const auto& block) {
    defaults(name, {{"hidden_features", block.hidden_features},
                    {"causal", block.causal},
                    {"norm_first", block.norm_first},
                    {"dropout", block.dropout},
                    {"activation", block.activation},
                    {"epsilon", block.epsilon},
                    {"bias", block.bias},
                    {"initialiser", block.initialiser}});
  };
  of_block("nn.TransformerBlock", nn::TransformerBlockOptions{});
  of_block("nn.TransformerDecoderBlock", nn::TransformerDecoderBlockOptions{});
}

}  // namespace

void sequence_layers() {
  values();
  methods();
  wrong();
  all_defaults();
}

}  // namespace cases
