// Layers for sequences: RNN, GRU, LSTM.
//
// x (T, N, I) has N sequences of T steps; the result (T, N, D H) has the state after each step, where D is 2 with
// `both_directions` and else 1; the second H are those of the direction from the last step to the first. With several
// layers the first one reads x, and each other one reads the result of the layer before it. Gates and formulas are
// PyTorch's; weights are its transposes, (I, G H) and (H, G H) for G gates. All start uniform in [-1 / sqrt(H), 1 /
// sqrt(H)].
//
// x weight_ih of all steps is one product; a step is a product and an operation for the rest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct RecurrentOptions {
  int layers = 1;
  bool both_directions = false;
  bool bias = true;
  double dropout = 0;  // of what one layer gives to the next, in training
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator; dropout keeps it
};

// The optional operands of a call. Tensor{} stands for the default.
struct RecurrentStart {
  Tensor lengths{};  // (N) int64 in [0, T]: a sequence ends before this step, and its results are 0 from there on
  Tensor h{}, c{};   // the states before the first step, (layers D, N, H); zeros by default; c of an LSTM alone

  // For a checkpoint of states that go on from batch to batch. Before they are loaded, h and c have their shapes, such as
  // zeros: Tensor{} takes nothing from a file.
  void members(Members& m) {
    m("lengths", lengths);
    m("h", h);
    m("c", c);
  }
};

// All results of a call.
struct RecurrentResult {
  Tensor output;  // (T, N, D H)
  Tensor h, c;    // the states after each sequence's last step, (layers D, N, H); c of an LSTM alone
};

// The parameters of one layer in one direction.
struct RecurrentWeights {
  void members(Members& m);

  Tensor weight_ih, weight_hh;
  Tensor bias_ih, bias_hh;  // (G H), or Tensor{}
};

enum class RnnActivation : std::uint8_t { tanh, relu };
inline constexpr RnnActivation default_rnn_activation = RnnActivation::tanh;
// The activation of this name. Throws Error for any other name.
RnnActivation rnn_activation_named(std::string_view name);

// h' = activation(x weight_ih + bias_ih + h weight_hh + bias_hh)
struct RNN {
  // Queues the initial values; may wait for room. Throws Error for sizes or layers below 1, for a dropout outside of
  // [0, 1], and for a type other than float32 and float64.
  RNN(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options = {},
      RnnActivation activation = default_rnn_activation, Location where = Location::current());
  // A layer with weights of the program's own, which its calls check: one for each layer, or two for both directions.
  // The options `layers`, `bias`, `dtype` and `device` have no effect, because the weights determine them.
  explicit RNN(std::vector<RecurrentWeights> weights, RecurrentOptions options = {},
               RnnActivation activation = default_rnn_activation);

  // The output of run(). All calls are queued and may wait for room. They throw Error if x is not (T, N, I) with T > 0,
  // or has another type or device than the weights, for weights that do not fit each other, and for a start that does
  // not fit. A length that is not in [0, T] is an Error at the wait, and stands on a GPU for the nearest one that is.
  Tensor operator()(const Arg& x) const { return run(x).output; }
  RecurrentResult run(const Arg& x, const RecurrentStart& start = {}) const;
  void members(Members& m);

  std::vector<RecurrentWeights> weights;  // of each layer, for both directions one after the other
  RecurrentOptions options;
  RnnActivation activation;
};

// r = sigmoid(…), z = sigmoid(…), where … is x weight_ih + bias_ih + h weight_hh + bias_hh with the columns of the
// gate, n = tanh(x weight_in + bias_in + r (h weight_hn + bias_hn)),   h' = (1 - z) n + z h.   Columns: r, z, n.
struct GRU {
  // Waits and throws Error as RNN does, in construction and calls.
  GRU(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options = {},
      Location where = Location::current());
  explicit GRU(std::vector<RecurrentWeights> weights, RecurrentOptions options = {});

  Tensor operator()(const Arg& x) const { return run(x).output; }
  RecurrentResult run(const Arg& x, const RecurrentStart& start = {}) const;
  void members(Members& m);

  std::vector<RecurrentWeights> weights;
  RecurrentOptions options;
};

// i, f, o = sigmoid(…), g = tanh(…), with … as for GRU,   c' = f c + i g,   h' = o tanh(c').   Columns: i, f, g, o.
struct LSTM {
  // Waits and throws Error as RNN does, in construction and calls.
  LSTM(std::int64_t in_features, std::int64_t hidden_features, RecurrentOptions options = {},
       Location where = Location::current());
  explicit LSTM(std::vector<RecurrentWeights> weights, RecurrentOptions options = {});

  Tensor operator()(const Arg& x) const { return run(x).output; }
  RecurrentResult run(const Arg& x, const RecurrentStart& start = {}) const;
  void members(Members& m);

  std::vector<RecurrentWeights> weights;
  RecurrentOptions options;
};

}  // namespace asyncgrad::nn
