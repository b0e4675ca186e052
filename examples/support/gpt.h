// A model that writes text character by character, and the text that it learns from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

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

// A text as the numbers of its characters, in the order of their codes.
struct Text {
  std::string alphabet;
  asyncgrad::Tensor indices;  // int64
};
// examples/data/kjv.txt.
std::string default_path();
// Throws BadInput for a file that cannot be read, and for one of no more than `context` characters.
Text read_text(const std::string& path, std::int64_t context);

// `count` random pieces of the text, drawn on the default device, and for each character the one after it: (count,
// context). Queued.
struct Batch {
  asyncgrad::Tensor indices, next;
};
Batch random_batch(const Text& text, std::int64_t count, std::int64_t context);

// `count` characters that the model draws one by one, after the beginning of a line. Blocks.
std::string write_text(const Model& model, const Text& text, int count, std::uint64_t seed);

}  // namespace gpt
