// Calls of recurrent layers and of losses of sequences.
#include <algorithm>

#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

constexpr std::int64_t steps = 5, features = 3;

struct Layer {
  int gates;
  bool has_biases, has_lengths;
  std::int64_t sequences = 6, hidden = 70;
};
constexpr std::int64_t many_sequences = 70;     // of which a thread takes several
constexpr std::int64_t full_blocks = 1061;      // sequences: so many that a block takes several groups of them
constexpr std::int64_t too_large_hidden = 257;  // for one operation

nn::RecurrentWeights weights_of(Inputs& in, const Layer& layer) {
  const std::int64_t hidden = layer.hidden, width = layer.gates * hidden;
  nn::RecurrentWeights weights;
  weights.weight_ih = in.parameter({features, width}, -1, 1);
  weights.weight_hh = in.parameter({hidden, width}, -0.1, 0.1);
  if (!layer.has_biases) return weights;
  weights.bias_ih = in.parameter({width}, -1, 1);
  weights.bias_hh = in.parameter({width}, -1, 1);
  return weights;
}

// The output and the last states of a layer, and the gradients of all that it reads.
template <class Net>
Results results_of(Inputs& in, const Net& net, const nn::RecurrentWeights& weights, const Layer& layer) {
  const bool has_c = layer.gates == 4;
  const std::int64_t sequences = layer.sequences, hidden = layer.hidden;
  const Tensor x = in.parameter({steps, sequences, features}), h = in.parameter({1, sequences, hidden}, -1, 1);
  nn::RecurrentStart start{.h = h};
  if (has_c) start.c = in.parameter({1, sequences, hidden}, -1, 1);
  if (layer.has_lengths) start.lengths = in.integers({sequences}, steps + 1);
  const nn::RecurrentResult result = net.run(x, start);
  Tensor total = sum(result.output * in(result.output.shape())) + sum(result.h * in(result.h.shape()));
  Results results{result.output, result.h};
  if (has_c) {
    total = total + sum(result.c * in(result.c.shape()));
    results.push_back(result.c);
  }
  total.backward();
  for (const Tensor& read : {x, h, start.c, weights.weight_ih, weights.weight_hh, weights.bias_ih, weights.bias_hh}) {
    if (read.defined()) results.push_back(read.grad());
  }
  return results;
}

template <class Net>
DeviceCase layer_case(const char* name, const Layer& layer) {
  return {name,
          layer.hidden < too_large_hidden ? std::vector{detail::Op::recurrent, detail::Op::recurrent_grad}
                                          : std::vector{detail::Op::recurrent_cell, detail::Op::recurrent_cell_grad},
          [=](Inputs& in) {
            const nn::RecurrentWeights weights = weights_of(in, layer);
            return results_of(in, Net({weights}), weights, layer);
          },
          1e-4, layer.gates > 1 && layer.sequences >= many_sequences};
}

struct CtcSizes {
  std::int64_t steps, samples, classes, width;
};

// The loss and its gradient. Every target fits into its steps, the first one is empty, and labels repeat.
Results ctc_loss(Inputs& in, const CtcSizes& s, std::int64_t blank) {
  const Tensor x = in.parameter({s.steps, s.samples, s.classes});
  std::vector<std::int64_t> labels, target_lengths, input_lengths;
  for (std::int64_t n = 0; n < s.samples; ++n) {
    for (std::int64_t i = 0; i < s.width; ++i)
      labels.push_back((blank + 1 + (i * n / 2) % (s.classes - 1)) % s.classes);
    target_lengths.push_back(s.width * n / s.samples);
    input_lengths.push_back(n == 1 ? s.steps : std::min(s.steps, 2 * target_lengths.back() + n));
  }
  const auto lengths = [&](const auto& values) { return Tensor::from(values, {s.samples}, in.device()); };
  const Tensor targets = Tensor::from(labels, {s.samples, s.width}, in.device());
  const Tensor loss = ctc(log_softmax(x), targets, lengths(input_lengths), lengths(target_lengths), blank);
  sum(loss * in({s.samples})).backward();
  return {loss, x.grad()};
}
DeviceCase ctc_case(const char* name, const CtcSizes& sizes, std::int64_t blank) {
  return {name, {detail::Op::ctc, detail::Op::ctc_grad}, [=](Inputs& in) { return ctc_loss(in, sizes, blank); }, 1e-4};
}

}  // namespace

DeviceCases sequence_cases() {
  struct Relu : nn::RNN {
    explicit Relu(const std::vector<nn::RecurrentWeights>& weights) : RNN(weights, {}, nn::RnnActivation::relu) {}
  };
  return {
      layer_case<nn::RNN>("rnn", {.gates = 1, .has_biases = true, .has_lengths = false}),
      layer_case<Relu>("rnn_relu_of_lengths", {.gates = 1, .has_biases = true, .has_lengths = true}),
      layer_case<nn::GRU>("gru", {.gates = 3, .has_biases = false, .has_lengths = false}),
      layer_case<nn::GRU>("gru_of_lengths", {.gates = 3, .has_biases = true, .has_lengths = true}),
      layer_case<nn::LSTM>("lstm", {.gates = 4, .has_biases = true, .has_lengths = false}),
      ctc_case("ctc", {12, 7, 6, 5}, 0),
      ctc_case("ctc_of_long_targets", {90, 3, 4, 40}, 3),
      ctc_case("ctc_of_no_targets", {5, 2, 3, 0}, 1),
      layer_case<nn::LSTM>("lstm_of_lengths", {.gates = 4, .has_biases = false, .has_lengths = true}),
      layer_case<nn::RNN>("rnn_of_one_element", {1, true, false, 300, 1}),
      layer_case<Relu>("rnn_relu_of_many_sequences", {1, false, true, many_sequences, 181}),
      layer_case<nn::GRU>("gru_of_many_sequences", {3, true, true, many_sequences, 104}),
      layer_case<nn::LSTM>("lstm_of_many_sequences", {4, true, true, many_sequences, 90}),
      layer_case<nn::RNN>("rnn_of_full_blocks", {1, true, false, full_blocks, 5}),
      layer_case<nn::GRU>("gru_of_full_blocks", {3, false, true, full_blocks, 17}),
      layer_case<nn::LSTM>("lstm_of_full_blocks", {4, true, true, full_blocks, 17}),
      layer_case<nn::RNN>("rnn_step_by_step", {1, true, true, 3, too_large_hidden}),
      layer_case<Relu>("rnn_relu_step_by_step", {1, true, false, 3, too_large_hidden}),
      layer_case<nn::GRU>("gru_step_by_step", {3, false, true, 3, too_large_hidden}),
      layer_case<nn::LSTM>("lstm_step_by_step", {4, true, true, 3, too_large_hidden}),
  };
}

}  // namespace asyncgrad::tests
