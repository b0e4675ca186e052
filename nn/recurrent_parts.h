// What layers and cells for sequences have in common. For the sources of layers.
#pragma once

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/networks/recurrent.h"
#include "asyncgrad/nn/recurrent.h"

namespace asyncgrad::nn::layer_detail {

// A kind of layers or of cells, with its name for messages.
struct RecurrentLayerKind {
  const char* name;
  detail::RecurrentKind kind;
  bool has_c() const { return kind == detail::RecurrentKind::lstm; }
};
constexpr detail::RecurrentKind kind_of(RnnActivation activation) {
  return activation == RnnActivation::relu ? detail::RecurrentKind::relu : detail::RecurrentKind::tanh;
}

// Throws Error, naming the layer, for sizes that no weights have and for a type that they cannot have.
void check_recurrent_sizes(const RecurrentLayerKind& layer, std::int64_t in_features, std::int64_t hidden_features,
                           DType dtype);
// Uniform in [-1 / sqrt(H), 1 / sqrt(H)]. The sizes have been checked.
RecurrentWeights initial_recurrent_weights(const RecurrentLayerKind& layer, std::int64_t in_features,
                                           std::int64_t hidden_features, bool has_bias, const RandomOptions& options,
                                           Location where);

// One layer in one direction over x (T, N, I), from the states h and c (N, H): what detail::recurrent() gives. The
// operands have been checked. Tensor{} stands for zeros, as a state, and for no lengths.
Tensor recurrent_states(const RecurrentLayerKind& layer, const RecurrentWeights& weights, bool is_backward,
                        const Arg& x, const Tensor& h, const Tensor& c, const Tensor& lengths = {});

}  // namespace asyncgrad::nn::layer_detail
