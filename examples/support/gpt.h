// A model that writes text character by character.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/text_data.h"

namespace gpt {

struct Sizes {
  std::int64_t layers = 4, features = 128, heads = 4, context = 128;
};

// indices (N, T) -> scores of the character that comes next, (N, T, K), for T up to `context`. The matrix that turns
// characters into features turns features into scores, too.
struct Model {
  Model(std::int64_t characters, double dropout, const Sizes& sizes = {});
  asyncgrad::Tensor operator()(const asyncgrad::Arg& indices) const;
  void members(asyncgrad::nn::Members& m);

  asyncgrad::nn::Embedding characters, positions;
  std::vector<asyncgrad::nn::TransformerBlock> blocks;
  asyncgrad::nn::LayerNorm norm;
};

// The mean of -log p over all characters: indices and what comes next (N, T).
asyncgrad::Tensor loss(const Model& model, const asyncgrad::Tensor& indices, const asyncgrad::Tensor& next);

// `count` random pieces of the text, drawn on the default device, and for each character the one after it: (count,
// context). Queued.
struct Batch {
  asyncgrad::Tensor indices, next;
};
Batch random_batch(const text::Text& text, std::int64_t count, std::int64_t context);

// `count` characters that the model draws one by one, after the beginning of a line. Blocks.
std::string write_text(const Model& model, const text::Text& text, int count, std::uint64_t seed);

}  // namespace gpt
