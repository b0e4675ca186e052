#include "asyncgrad/nn/recurrent.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/activation.h"
#include "asyncgrad/nn/dropout.h"
#include "asyncgrad/nn/layer_options.h"
#include "asyncgrad/nn/recurrent_parts.h"

namespace asyncgrad::nn {

using detail::RecurrentKind;
using LayerKind = layer_detail::RecurrentLayerKind;

namespace {

std::int64_t directions(const RecurrentOptions& options) { return options.both_directions ? 2 : 1; }

std::vector<RecurrentWeights> initial(const LayerKind& layer, std::int64_t in_features, std::int64_t hidden_features,
                                      const RecurrentOptions& options, Location where) {
  const CallSite site(where);
  layer_detail::check_recurrent_sizes(layer, in_features, hidden_features, options.dtype);
  check_at_least_one(layer.name, "layers", options.layers);
  check_in_unit_interval(layer.name, "dropout", options.dropout);
  std::vector<RecurrentWeights> weights;
  for (int i = 0; i < options.layers; ++i) {
    const std::int64_t in = i == 0 ? in_features : directions(options) * hidden_features;
    for (std::int64_t direction = 0; direction < directions(options); ++direction) {
      weights.push_back(layer_detail::initial_recurrent_weights(layer, in, hidden_features, options.bias,
                                                                layer_detail::random_options(options), where));
    }
  }
  return weights;
}

// A call of a layer.
class Run {
 public:
  Run(const LayerKind& layer, const std::vector<RecurrentWeights>& weights, const RecurrentOptions& options,
      const Arg& x, const RecurrentStart& start)
      : layer_(layer), weights_(weights), options_(options), start_(start), where_(x.where()) {
    check_weights(x);
    const Shape& shape = layer_detail::shape_of(layer.name, x);
    const std::int64_t in = weights[0].weight_ih.size(0);
    if (shape.rank() != 3 || shape[2] != in || shape[0] == 0) {
      const bool is_last = shape.rank() == 3 && shape[0] > 0;
      throw_error(layer.name,
                  fmt::format("needs x (T, N, {}), time first, with T > 0, got {}{}", in, shape.str(),
                              is_last ? fmt::format("; {}({}, {}) takes it", layer.name, shape[2], hidden()) : ""));
    }
    sequences_ = shape[1];
    check_lengths(x);
    check_state("h", start.h, x);
    if (!layer.has_c() && start.c.defined()) throw_error(layer.name, "has no state c, only h");
    check_state("c", start.c, x);
  }

  RecurrentResult operator()(const Tensor& x) {
    const Dropout dropout(options_.dropout, options_.generator);
    Tensor input = x;
    for (int i = 0; i < options_.layers; ++i) {
      if (i > 0) input = dropout(Arg(input, where_));
      std::vector<Tensor> outputs;
      for (std::int64_t direction = 0; direction < directions(options_); ++direction) {
        outputs.push_back(one(input, static_cast<std::size_t>(i * directions(options_) + direction), direction == 1));
      }
      input = outputs.size() == 1 ? outputs[0] : concat(outputs, 2, where_);
    }
    return {
        .output = input, .h = stack(last_h_, 0, where_), .c = layer_.has_c() ? stack(last_c_, 0, where_) : Tensor()};
  }

 private:
  std::int64_t hidden() const { return weights_[0].weight_hh.size(0); }

  // Checked again, because a program may have replaced the weights.
  void check_weights(const Arg& x) const {
    if (weights_.empty() || weights_.size() != static_cast<std::size_t>(options_.layers * directions(options_))) {
      throw_error(layer_.name, fmt::format("needs weights for each of {} layers in {} directions, got {}",
                                           options_.layers, directions(options_), weights_.size()));
    }
    for (const RecurrentWeights& w : weights_) {
      if (!w.weight_ih.defined() || !w.weight_hh.defined() || w.bias_ih.defined() != w.bias_hh.defined())
        throw_error(layer_.name, "needs weight_ih, weight_hh, and both of the biases or none");
    }
    if (weights_[0].weight_ih.rank() != 2 || weights_[0].weight_hh.rank() != 2) {
      throw_error(layer_.name, fmt::format("needs weight_ih and weight_hh with two axes, got {} and {}",
                                           weights_[0].weight_ih.shape().str(), weights_[0].weight_hh.shape().str()));
    }
    const std::int64_t width = detail::gate_count(layer_.kind) * hidden();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const bool is_first = i < static_cast<std::size_t>(directions(options_));
      const std::int64_t in = is_first ? weights_[0].weight_ih.size(0) : directions(options_) * hidden();
      const RecurrentWeights& w = weights_[i];
      check_weight(i, "weight_ih", w.weight_ih, {in, width}, x);
      check_weight(i, "weight_hh", w.weight_hh, {hidden(), width}, x);
      check_weight(i, "bias_ih", w.bias_ih, {width}, x);
      check_weight(i, "bias_hh", w.bias_hh, {width}, x);
    }
  }
  void check_weight(std::size_t i, const char* part, const Tensor& given, const Shape& wanted, const Arg& x) const {
    if (!given.defined()) return;
    if (given.shape() == wanted && given.dtype() == x->dtype() && given.device() == x->device()) return;
    const std::string hint = given.dtype() != x->dtype()     ? "; x" + detail::to_str(given.dtype()) + " fits it"
                             : given.device() != x->device() ? "; x" + detail::to_str(given.device()) + " fits it"
                                                             : "";
    throw_error(layer_.name, fmt::format("weights.{}.{} must be {} {} on {}, as x is: it is {} {} on {}{}", i, part,
                                         name(x->dtype()), wanted.str(), x->device().str(), name(given.dtype()),
                                         given.shape().str(), given.device().str(), hint));
  }

  void check_lengths(const Arg& x) const {
    const Tensor& lengths = start_.lengths;
    if (!lengths.defined()) return;
    if (lengths.dtype() == int64 && lengths.shape() == Shape{sequences_} && lengths.device() == x->device()) return;
    throw_error(layer_.name, fmt::format("lengths must be int64 ({}) on {}: lengths {} {} on {}, x {}", sequences_,
                                         x->device().str(), name(lengths.dtype()), lengths.shape().str(),
                                         lengths.device().str(), x->shape().str()));
  }
  void check_state(const char* state, const Tensor& given, const Arg& x) const {
    if (!given.defined()) return;
    const Shape wanted{weights_.size(), sequences_, hidden()};
    if (given.shape() == wanted && given.dtype() == x->dtype() && given.device() == x->device()) return;
    throw_error(layer_.name, fmt::format("{} must be {} {}: {} {} {}", state, name(x->dtype()), wanted.str(), state,
                                         name(given.dtype()), given.shape().str()));
  }

  template <class Index>
  Tensor row(const Tensor& x, Index index) const {
    return x[RowIndex(index, where_)];
  }

  // The state before the first step of one layer in one direction.
  Tensor state_of(const Tensor& given, std::size_t index) const {
    return given.defined() ? row(given, index) : Tensor();
  }

  // One layer in one direction.
  Tensor one(const Tensor& x, std::size_t index, bool is_backward) {
    const std::int64_t steps = x.size(0);
    const Tensor states =
        layer_detail::recurrent_states(layer_, weights_[index], is_backward, Arg(x, where_), state_of(start_.h, index),
                                       state_of(start_.c, index), start_.lengths);
    last_h_.push_back(row(states, is_backward ? 0 : steps - 1));
    if (layer_.has_c()) last_c_.push_back(row(states, steps));
    const Tensor output = layer_.has_c() ? states.slice(0, steps, where_) : states;
    return start_.lengths.defined() ? within_lengths(output) : output;
  }

  // Replaces the steps that a sequence does not have by 0.
  Tensor within_lengths(const Tensor& output) const {
    const Tensor step = arange(0, output.size(0), 1, {.dtype = int64, .device = output.device()}, where_);
    const Tensor is_over = greater_equal(Arg(unsqueeze(Arg(step, where_), 1), where_), start_.lengths);
    return masked_fill(Arg(output, where_), unsqueeze(Arg(is_over, where_), 2), 0);
  }

  const LayerKind& layer_;
  const std::vector<RecurrentWeights>& weights_;
  const RecurrentOptions& options_;
  const RecurrentStart& start_;
  Location where_;
  std::int64_t sequences_ = 0;
  std::vector<Tensor> last_h_, last_c_;
};

constexpr LayerKind gru{"GRU", RecurrentKind::gru}, lstm{"LSTM", RecurrentKind::lstm};
LayerKind rnn(RnnActivation activation) { return {"RNN", layer_detail::kind_of(activation)}; }
RecurrentOptions with_layers_of(const LayerKind& layer, const std::vector<RecurrentWeights>& weights,
                                RecurrentOptions options) {
  check_in_unit_interval(layer.name, "dropout", options.dropout);
  options.layers = static_cast<int>(static_cast<std::int64_t>(weights.size()) / directions(options));
  return options;
}

}  // namespace

RnnActivation rnn_activation_named(std::string_view name) {
  const Activation function = activation_named("RNN", name);
  if (function == Activation(relu)) return RnnActivation::relu;
  if (function == Activation(tanh)) return RnnActivation::tanh;
  throw_error("RNN", fmt::format("activation must be tanh or relu, got {}", name));
}

void RecurrentWeights::members(Members& m) {
  m("weight_ih", weight_ih);
  m("weight_hh", weight_hh);
  m("bias_ih", bias_ih);
  m("bias_hh", bias_hh);
}

void RNN::members(Members& m) { m("weights", weights); }
void GRU::members(Members& m) { m("weights", weights); }
void LSTM::members(Members& m) { m("weights", weights); }

RNN::RNN(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options, RnnActivation activation,
         Location where)
    : weights(initial(rnn(activation), in_features, hidden_features, options, where)),
      options(options),
      activation(activation) {}
RNN::RNN(std::vector<RecurrentWeights> weights, RecurrentOptions options, RnnActivation activation)
    : weights(std::move(weights)),
      options(with_layers_of(rnn(activation), this->weights, options)),
      activation(activation) {}
RecurrentResult RNN::run(const Arg& x, const RecurrentStart& start) const {
  const LayerKind layer = rnn(activation);
  return Run(layer, weights, options, x, start)(x);
}

GRU::GRU(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options, Location where)
    : weights(initial(gru, in_features, hidden_features, options, where)), options(options) {}
GRU::GRU(std::vector<RecurrentWeights> weights, RecurrentOptions options)
    : weights(std::move(weights)), options(with_layers_of(gru, this->weights, options)) {}
RecurrentResult GRU::run(const Arg& x, const RecurrentStart& start) const {
  return Run(gru, weights, options, x, start)(x);
}

LSTM::LSTM(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options, Location where)
    : weights(initial(lstm, in_features, hidden_features, options, where)), options(options) {}
LSTM::LSTM(std::vector<RecurrentWeights> weights, RecurrentOptions options)
    : weights(std::move(weights)), options(with_layers_of(lstm, this->weights, options)) {}
RecurrentResult LSTM::run(const Arg& x, const RecurrentStart& start) const {
  return Run(lstm, weights, options, x, start)(x);
}

}  // namespace asyncgrad::nn
