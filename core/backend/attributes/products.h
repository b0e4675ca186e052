// The attributes of matrix products and of what is made of them: dense layers, attention, recurrent layers. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

struct MatmulAttributes {
  bool transpose_x = false, transpose_w = false;
  MathMode math = MathMode::float32;
};
// The axes of an operand before the two axes of its matrices.
inline Shape leading_axes(const Shape& shape) { return Shape(std::span(shape.begin(), shape.end() - 2)); }
enum class ActivationKind : std::uint8_t { none, relu };
struct DenseAttributes {
  ActivationKind activation = ActivationKind::none;
  bool has_bias = false;
  MathMode math = MathMode::float32;  // of dense; dense_grad has no product
};
// softmax(scale q k^T + mask) v. The mask is broadcast to the scores (…, T, S); causal: row i sees columns 0 … i.
struct AttentionAttributes {
  double scale;
  bool is_causal = false, has_mask = false;
  MathMode math = MathMode::float32;
  std::array<std::uint8_t, 5> padding{};
};
// One step of a recurrent layer, where x is its input's share of the gates and z is that of h before; or all of its steps,
// each of which computes z: h before times the weight, plus the bias. Sequences that are no longer than a step's number
// keep h and c. An LSTM has c. It and a GRU keep their gates' values for the gradient. A GRU's dz differs from dx.
enum class RecurrentKind : std::uint8_t { tanh, relu, gru, lstm };
constexpr int gate_count(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}
struct RecurrentAttributes {
  std::int64_t step = 0, steps = 0;
  RecurrentKind kind = RecurrentKind::tanh;
  bool has_lengths = false;
  // Of all steps alone:
  bool is_backward = false;  // the last step is the first one that is taken
  bool has_bias = false;
  bool is_kept = false;  // what the gradient needs is among the results
  std::array<std::uint8_t, 3> padding{};
};
inline constexpr std::int64_t most_elements_of_all_steps = 256;  // of a state
// Whether a kernel of all steps takes a layer of so many sequences and a state of n elements: a thread has an element, and
// blocks of threads read the weight in every step. With a larger weight steps take longer than their launches.
constexpr bool takes_all_steps(RecurrentKind kind, std::int64_t sequences, std::int64_t n, std::int64_t element_bytes) {
  constexpr std::int64_t most_weight_bytes = 256 << 10, most_bytes = 256 << 20;
  const std::int64_t weight_bytes = gate_count(kind) * n * n * element_bytes;
  return n > 0 && n <= most_elements_of_all_steps && weight_bytes <= most_weight_bytes &&
         sequences <= most_bytes / weight_bytes;
}

}  // namespace asyncgrad::detail
