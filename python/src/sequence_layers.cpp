// Layers of the library for sequences: a row each.
#include "call.h"
#include "conversion.h"
#include "layer.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

using nb::handle;
using Count = std::int64_t;

template <class Kind>
void add_run(LayerClass<Kind> layer) {
  layer.def(
      "run",
      [](const Held<Kind>& self, handle x, handle lengths, handle h, handle c) {
        const Call call(x);
        nn::RecurrentResult result =
            self.layer.run(call.arg(tensor_from(x)),
                           {.lengths = tensor_or_none(lengths), .h = tensor_or_none(h), .c = tensor_or_none(c)});
        nb::list parts;
        for (Tensor* part : {&result.output, &result.h, &result.c}) {
          if (part->defined()) parts.append(call.result(std::move(*part)));
        }
        return nb::tuple(parts);
      },
      nb::arg("x"), nb::arg("lengths") = nb::none(), nb::arg("h") = nb::none(), nb::arg("c") = nb::none(),
      "Everything that a call gives: (output, h), and c for an LSTM. States are (layers D, N, H).");
}

// For RecurrentOptions, or what is derived from it.
template <class R>
OptionList<R> recurrent_options() {
  return with_common<R>(
      {{"layers", &R::layers}, {"both_directions", &R::both_directions}, {"bias", &R::bias}, {"dropout", &R::dropout}});
}

void bind_recurrent(nb::module_& m) {
  using R = nn::RecurrentOptions;
  // Its activation comes after the options, as in C++.
  struct RnnOptions : R {
    nn::RnnActivation activation = nn::default_rnn_activation;
  };
  OptionList<RnnOptions> of_rnn = recurrent_options<RnnOptions>();
  of_rnn.emplace_back("activation", &RnnOptions::activation);
  add_run(bind_layer<nn::RNN, RnnOptions, Count, Count>(
      m,
      {.name = "RNN",
       .doc = "h' = activation(x weight_ih + bias_ih + h weight_hh + bias_hh): x (T, N, I) -> (T, N, D H).",
       .given = {"in_features", "hidden_features"},
       .options = std::move(of_rnn)},
      [](const Count& in, const Count& hidden, const RnnOptions& options) {
        return nn::RNN(in, hidden, options, options.activation, here());
      }));
  add_run(bind_layer<nn::GRU, R, Count, Count>(
      m,
      {.name = "GRU",
       .doc = "Gated recurrent units: x (T, N, I) -> (T, N, D H). Columns of the gates: r, z, n.",
       .given = {"in_features", "hidden_features"},
       .options = recurrent_options<R>()},
      [](const Count& in, const Count& hidden, const R& options) { return nn::GRU(in, hidden, options, here()); }));
  add_run(bind_layer<nn::LSTM, R, Count, Count>(
      m,
      {.name = "LSTM",
       .doc = "Long short-term memory: x (T, N, I) -> (T, N, D H). Columns of the gates: i, f, g, o.",
       .given = {"in_features", "hidden_features"},
       .options = recurrent_options<R>()},
      [](const Count& in, const Count& hidden, const R& options) { return nn::LSTM(in, hidden, options, here()); }));
}

using CellOptions = nn::RecurrentCellOptions;
OptionList<CellOptions> cell_options() { return with_common<CellOptions>({{"bias", &CellOptions::bias}}); }

// The call from a state of its own; that from zeros is the call of every layer of one tensor.
template <class Kind>
void add_step(LayerClass<Kind> cell) {
  cell.def(
      "__call__",
      [](const Held<Kind>& self, handle x, handle h) {
        const Call call(x);
        return call.result(self.layer(call.arg(tensor_from(x)), tensor_or_none(h)));
      },
      nb::arg("x"), nb::arg("h").none());
}

void bind_cells(nb::module_& m) {
  // Its activation comes after the options, as in C++.
  struct RnnCellOptions : CellOptions {
    nn::RnnActivation activation = nn::default_rnn_activation;
  };
  OptionList<RnnCellOptions> of_rnn = with_common<RnnCellOptions>({{"bias", &RnnCellOptions::bias}});
  of_rnn.emplace_back("activation", &RnnCellOptions::activation);
  add_step(bind_layer<nn::RNNCell, RnnCellOptions, Count, Count>(
      m,
      {.name = "RNNCell",
       .doc = "A step of an RNN: x (N, I) and h (N, H), or None for zeros, -> the next h.",
       .given = {"in_features", "hidden_features"},
       .options = std::move(of_rnn)},
      [](const Count& in, const Count& hidden, const RnnCellOptions& options) {
        return nn::RNNCell(in, hidden, options, options.activation, here());
      }));
  add_step(bind_layer<nn::GRUCell, CellOptions, Count, Count>(
      m,
      {.name = "GRUCell",
       .doc = "A step of a GRU: x (N, I) and h (N, H), or None for zeros, -> the next h.",
       .given = {"in_features", "hidden_features"},
       .options = cell_options()},
      [](const Count& in, const Count& hidden, const CellOptions& options) {
        return nn::GRUCell(in, hidden, options, here());
      }));
  bind_layer<nn::LSTMCell, CellOptions, Count, Count>(
      m,
      {.name = "LSTMCell",
       .doc = "A step of an LSTM: x (N, I), h and c (N, H), or None for zeros, -> the next (h, c).",
       .given = {"in_features", "hidden_features"},
       .options = cell_options()},
      [](const Count& in, const Count& hidden, const CellOptions& options) {
        return nn::LSTMCell(in, hidden, options, here());
      })
      .def(
          "__call__",
          [](const Held<nn::LSTMCell>& self, handle x, handle h, handle c) {
            const Call call(x);
            nn::LSTMState state =
                self.layer(call.arg(tensor_from(x)), {.h = tensor_or_none(h), .c = tensor_or_none(c)});
            return nb::make_tuple(call.result(std::move(state.h)), call.result(std::move(state.c)));
          },
          nb::arg("x"), nb::arg("h") = nb::none(), nb::arg("c") = nb::none());
}

// The options that the blocks of transformers have in common.
template <class T>
OptionList<T> block_options() {
  return with_common<T>({{"hidden_features", &T::hidden_features},
                         {"causal", &T::causal},
                         {"norm_first", &T::norm_first},
                         {"dropout", &T::dropout},
                         {"activation", &T::activation},
                         {"epsilon", &T::epsilon},
                         {"bias", &T::bias}});
}

void bind_attention(nb::module_& m) {
  using A = nn::MultiHeadAttentionOptions;
  bind_layer<nn::MultiHeadAttention, A, Count, Count>(
      m,
      {.name = "MultiHeadAttention",
       .doc = "Attention with several heads: x (N, T, C) -> (N, T, C).",
       .given = {"features", "heads"},
       .options = with_common<A>({{"causal", &A::causal}, {"bias", &A::bias}})},
      [](const Count& features, const Count& heads, const A& options) {
        return nn::MultiHeadAttention(features, heads, options, here());
      })
      .def(
          "attend",
          [](const Held<nn::MultiHeadAttention>& self, handle x, handle memory, handle mask) {
            const Call call(x);
            return call.result(
                self.layer.attend(call.arg(tensor_from(x)), call.arg(tensor_from(memory)), tensor_or_none(mask)));
          },
          nb::arg("x"), nb::arg("memory"), nb::arg("mask") = nb::none(),
          "x (N, T, C) attends to memory (N, S, C); the mask is added to the scores (N, heads, T, S).");
}

}  // namespace

void bind_sequence_layers(nb::module_& m) {
  bind_recurrent(m);
  bind_cells(m);
  bind_attention(m);
  using T = nn::TransformerBlockOptions;
  bind_layer<nn::TransformerBlock, T, Count, Count>(
      m,
      {.name = "TransformerBlock",
       .doc = "Attention, then two dense layers, each added to its input: x (N, T, C) -> (N, T, C). Without "
              "hidden_features there are 4 C between the dense layers.",
       .given = {"features", "heads"},
       .options = block_options<T>()},
      [](const Count& features, const Count& heads, const T& options) {
        return nn::TransformerBlock(features, heads, options, here());
      });
  using D = nn::TransformerDecoderBlockOptions;
  bind_layer<nn::TransformerDecoderBlock, D, Count, Count>(
      m,
      {.name = "TransformerDecoderBlock",
       .doc = "Attention to itself, attention to a memory, then two dense layers, each added to its input: x (N, T, C) "
              "and memory (N, S, C) -> (N, T, C). A call takes (x, memory, mask=None, memory_mask=None), with masks as "
              "in MultiHeadAttention.attend().",
       .given = {"features", "heads"},
       .options = block_options<D>()},
      [](const Count& features, const Count& heads, const D& options) {
        return nn::TransformerDecoderBlock(features, heads, options, here());
      })
      .def(
          "__call__",
          [](const Held<nn::TransformerDecoderBlock>& self, handle x, handle memory, handle mask, handle memory_mask) {
            const Call call(x);
            return call.result(self.layer(call.arg(tensor_from(x)), call.arg(tensor_from(memory)),
                                          {.mask = tensor_or_none(mask), .memory_mask = tensor_or_none(memory_mask)}));
          },
          nb::arg("x"), nb::arg("memory"), nb::arg("mask") = nb::none(), nb::arg("memory_mask") = nb::none());
  using P = nn::PositionalEncodingOptions;
  bind_layer<nn::PositionalEncoding, P, Count, Count>(
      m,
      {.name = "PositionalEncoding",
       .doc = "x + table[0 ... T): x (..., T, C), with sines and cosines of the position.",
       .given = {"max_length", "features"},
       .options = with_common<P>({})},
      [](const Count& max_length, const Count& features, const P& options) {
        return nn::PositionalEncoding(max_length, features, options, here());
      });
}

}  // namespace asyncgrad::python
