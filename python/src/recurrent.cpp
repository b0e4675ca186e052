// Recurrent networks as functions, of weights that the program keeps.
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "rows.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

// Rows (weight_ih, weight_hh) or (weight_ih, weight_hh, bias_ih, bias_hh).
std::vector<nn::RecurrentWeights> weights_from(Handle rows) {
  std::vector<nn::RecurrentWeights> all;
  for (const Object& row : items_from(rows, "rows of weights")) {
    const std::vector<Tensor> parts = tensors_from(row);
    if (parts.size() != 2 && parts.size() != 4) {
      throw_value_error("weights are rows (weight_ih, weight_hh) or (weight_ih, weight_hh, bias_ih, bias_hh), not of " +
                        std::to_string(parts.size()) + " tensors");
    }
    const bool has_bias = parts.size() == 4;
    all.push_back({parts[0], parts[1], has_bias ? parts[2] : Tensor(), has_bias ? parts[3] : Tensor()});
  }
  return all;
}

template <class Layer, class... More>
nb::tuple run(Handle x, Handle weights, Handle lengths, Handle h, Handle c, bool both_directions, double dropout,
              More... more) {
  const Call call(x);
  nn::RecurrentOptions options;
  options.both_directions = both_directions;
  options.dropout = dropout;
  const Layer layer(weights_from(weights), options, more...);
  nn::RecurrentResult result = layer.run(
      call.arg(tensor_from(x)), {.lengths = tensor_or_none(lengths), .h = tensor_or_none(h), .c = tensor_or_none(c)});
  const TensorObject output = call.result(std::move(result.output)), last = call.result(std::move(result.h));
  if (!result.c.defined()) return nb::make_tuple(output, last);
  return nb::make_tuple(output, last, call.result(std::move(result.c)));
}

}  // namespace

void bind_recurrent_functions(nb::module_& m) {
  const nn::RecurrentOptions unchanged;
  m.def(
      "rnn",
      [](Handle x, Handle weights, Handle lengths, Handle h, bool both_directions, double dropout,
         const std::string& activation) {
        return run<nn::RNN>(x, weights, lengths, h, nb::none(), both_directions, dropout,
                            nn::rnn_activation_named(activation));
      },
      nb::arg("x"), nb::arg("weights"), nb::arg("lengths") = nb::none(), nb::arg("h") = nb::none(),
      nb::arg("both_directions") = unchanged.both_directions, nb::arg("dropout") = unchanged.dropout,
      nb::arg("activation") = shown(nn::default_rnn_activation),
      "(output, h) of a recurrent network over x (T, N, I), see nn.RNN. `weights` has a row for each layer, or two for "
      "both directions: (weight_ih, weight_hh, bias_ih, bias_hh), or without the biases. Of what one layer gives to "
      "the next the share `dropout` is 0 in training.");
  m.def(
      "gru",
      [](Handle x, Handle weights, Handle lengths, Handle h, bool both_directions, double dropout) {
        return run<nn::GRU>(x, weights, lengths, h, nb::none(), both_directions, dropout);
      },
      nb::arg("x"), nb::arg("weights"), nb::arg("lengths") = nb::none(), nb::arg("h") = nb::none(),
      nb::arg("both_directions") = unchanged.both_directions, nb::arg("dropout") = unchanged.dropout,
      "(output, h) of gated recurrent units, see nn.GRU; the arguments are those of rnn().");
  m.def(
      "lstm",
      [](Handle x, Handle weights, Handle lengths, Handle h, Handle c, bool both_directions, double dropout) {
        return run<nn::LSTM>(x, weights, lengths, h, c, both_directions, dropout);
      },
      nb::arg("x"), nb::arg("weights"), nb::arg("lengths") = nb::none(), nb::arg("h") = nb::none(),
      nb::arg("c") = nb::none(), nb::arg("both_directions") = unchanged.both_directions,
      nb::arg("dropout") = unchanged.dropout,
      "(output, h, c) of a long short-term memory, see nn.LSTM; the arguments are those of rnn().");
}

}  // namespace asyncgrad::python
