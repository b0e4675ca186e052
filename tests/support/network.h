// A network of many kinds of operations, for tests of what fails.
#pragma once

#include <algorithm>
#include <span>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// Doubles x by an operation of the program's own.
inline Tensor twice(const Tensor& x) {
  const Tensor y = custom("twice", {.shape = x.shape()}, {x.detach()}, [](const CustomCall& call) {
    const std::span<const float> in = call.input<float>(0);
    const std::span<float> out = call.output<float>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
  });
  return with_gradient("twice", y, {x}, [](const GradientCall& call) { return call.dy() * 2; });
}

// A network with many kinds of layers. The numbers of a source are added to images (N, 1, 8, 8). The images become
// sequences of 4 rows of 16, and these give (4 N, 1).
struct Network {
  explicit Network(Generator& generator)
      : conv(1, 4, 3, relu, {.padding = 1, .generator = &generator}),
        attention(16, 2, {.causal = true, .generator = &generator}),
        lstm(16, 16, {.both_directions = true, .dropout = 0.25, .generator = &generator}),
        out(32, 1, {}, {.generator = &generator}),
        dropout(0.25, &generator) {}

  Tensor operator()(const Tensor& images) const {
    const Tensor noise = source("noise", {.shape = {8, 8}},
                                [](const CustomCall& call) { std::ranges::fill(call.output<float>(), 0.25F); });
    const Tensor planes = max_pool2d(norm(conv(images + noise)), 2);
    const Tensor rows = row_norm(dropout(twice(planes)).reshape({-1, 4, 16}));
    const Tensor seen = nn::recompute([this](const Arg& x) { return cumsum(attention(x), 1); }, rows);
    const Tensor parts =
        concat({slice(seen, 2, 0, 8), masked_fill(slice(seen, 2, 8, 16), slice(rows, 2, 0, 8) > 0, 0)}, 2);
    return out(lstm(parts).reshape({-1, 32}));
  }
  void members(nn::Members& m) {
    m("conv", conv);
    m("norm", norm);
    m("row_norm", row_norm);
    m("attention", attention);
    m("lstm", lstm);
    m("out", out);
  }

  nn::Conv2d conv;
  nn::BatchNorm norm{4};
  nn::LayerNorm row_norm{16};
  nn::MultiHeadAttention attention;
  nn::LSTM lstm;
  nn::Dense out;
  nn::Dropout dropout;
};

}  // namespace asyncgrad::tests
