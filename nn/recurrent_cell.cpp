#include "asyncgrad/nn/recurrent_cell.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"
#include "asyncgrad/nn/recurrent_parts.h"

namespace asyncgrad::nn {

namespace {

using Kind = layer_detail::RecurrentLayerKind;

constexpr Kind gru_cell{"GRUCell", detail::RecurrentKind::gru}, lstm_cell{"LSTMCell", detail::RecurrentKind::lstm};
Kind rnn_cell(RnnActivation activation) { return {"RNNCell", layer_detail::kind_of(activation)}; }

RecurrentWeights initial(const Kind& cell, std::int64_t in_features, std::int64_t hidden_features,
                         const RecurrentCellOptions& options, Location where) {
  const CallSite site(where);
  layer_detail::check_recurrent_sizes(cell, in_features, hidden_features, options.dtype);
  return layer_detail::initial_recurrent_weights(cell, in_features, hidden_features, options.bias,
                                                 layer_detail::random_options(options), where);
}

void check(const Kind& cell, const char* operand, const Tensor& given, const Shape& wanted, const Arg& x) {
  if (given.shape() == wanted && given.dtype() == x->dtype() && given.device() == x->device()) return;
  throw_error(cell.name,
              fmt::format("{} must be {} {} on {}, as x is: it is {} {} on {}", operand, name(x->dtype()), wanted.str(),
                          x->device().str(), name(given.dtype()), given.shape().str(), given.device().str()));
}

// Checked at each call, because a program may have replaced the weights.
void check_weights(const Kind& cell, const RecurrentWeights& w, const Arg& x) {
  if (!w.weight_hh.defined() || w.weight_hh.rank() != 2) throw_error(cell.name, "needs weight_hh with two axes");
  if (w.bias_ih.defined() != w.bias_hh.defined()) throw_error(cell.name, "needs both of the biases or none");
  const std::int64_t hidden = w.weight_hh.size(0), width = detail::gate_count(cell.kind) * hidden;
  check(cell, "weight_ih", w.weight_ih, {x->size(1), width}, x);
  check(cell, "weight_hh", w.weight_hh, {hidden, width}, x);
  if (!w.bias_ih.defined()) return;
  check(cell, "bias_ih", w.bias_ih, {width}, x);
  check(cell, "bias_hh", w.bias_hh, {width}, x);
}

// The states after a step: h, and for an LSTM c behind it, (1, N, H) or (2, N, H).
Tensor after_step(const Kind& cell, const RecurrentWeights& weights, const Arg& x, const Tensor& h, const Tensor& c) {
  const Shape& shape = x->shape();
  if (!weights.weight_ih.defined() || weights.weight_ih.rank() != 2) {
    throw_error(cell.name, "needs weight_ih with two axes");
  }
  if (const std::int64_t in = weights.weight_ih.size(0); shape.rank() != 2 || shape[1] != in) {
    throw_error(cell.name, fmt::format("needs x (N, {}), got {}", in, shape.str()));
  }
  check_weights(cell, weights, x);
  const Shape state{shape[0], weights.weight_hh.size(0)};
  if (h.defined()) check(cell, "h", h, state, x);
  if (c.defined()) check(cell, "c", c, state, x);
  const Tensor sequence = x->reshape({1, shape[0], shape[1]}, x.where());
  return layer_detail::recurrent_states(cell, weights, false, Arg(sequence, x.where()), h, c);
}

Tensor row(const Tensor& states, int index, Location where) { return states[RowIndex(index, where)]; }

}  // namespace

RNNCell::RNNCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options,
                 RnnActivation activation, Location where)
    : RecurrentWeights(initial(rnn_cell(activation), in_features, hidden_features, options, where)),
      activation(activation) {}
Tensor RNNCell::operator()(const Arg& x, const Tensor& h) const {
  return row(after_step(rnn_cell(activation), *this, x, h, {}), 0, x.where());
}

GRUCell::GRUCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options, Location where)
    : RecurrentWeights(initial(gru_cell, in_features, hidden_features, options, where)) {}
Tensor GRUCell::operator()(const Arg& x, const Tensor& h) const {
  return row(after_step(gru_cell, *this, x, h, {}), 0, x.where());
}

LSTMCell::LSTMCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options, Location where)
    : RecurrentWeights(initial(lstm_cell, in_features, hidden_features, options, where)) {}
LSTMState LSTMCell::operator()(const Arg& x, const LSTMState& state) const {
  const Tensor states = after_step(lstm_cell, *this, x, state.h, state.c);
  return {.h = row(states, 0, x.where()), .c = row(states, 1, x.where())};
}

}  // namespace asyncgrad::nn
