// One step of a recurrent layer: RNNCell, GRUCell, LSTMCell, for loops that compute something between the steps, such as
// attention or the next input. Formulas, gates and initial values are those of recurrent.h; a step has the bits of a
// layer's run() over a sequence of one. A whole sequence is faster in a layer.
//
// Their calls take x (N, I) and a state (N, H), of which Tensor{} stands for zeros, and give the state after the step.
// They are queued and may wait for room. They throw Error for other shapes, for types or devices that differ, and for
// weights that do not fit each other. Several threads may call a const cell at once.
#pragma once

#include "asyncgrad/nn/recurrent.h"

namespace asyncgrad::nn {

struct RecurrentCellOptions {
  bool bias = RecurrentOptions{}.bias;
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

struct RNNCell : RecurrentWeights {
  // Queues the initial values; may wait for room. Throws Error for sizes below 1, and for a type other than float32 and
  // float64.
  RNNCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options = {},
          RnnActivation activation = default_rnn_activation, Location where = Location::current());
  Tensor operator()(const Arg& x, const Tensor& h = {}) const;

  RnnActivation activation;
};

struct GRUCell : RecurrentWeights {
  // Waits and throws Error as RNNCell does.
  GRUCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options = {},
          Location where = Location::current());
  Tensor operator()(const Arg& x, const Tensor& h = {}) const;
};

struct LSTMState {
  Tensor h{}, c{};

  void members(Members& m) {  // for a checkpoint of a state that goes on from batch to batch
    m("h", h);
    m("c", c);
  }
};

struct LSTMCell : RecurrentWeights {
  // Waits and throws Error as RNNCell does.
  LSTMCell(std::int64_t in_features, std::int64_t hidden_features, RecurrentCellOptions options = {},
           Location where = Location::current());
  LSTMState operator()(const Arg& x, const LSTMState& state = {}) const;
};

}  // namespace asyncgrad::nn
