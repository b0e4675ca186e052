#include "examples/support/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "asyncgrad/experiment/bad_input.h"

namespace gpt {

namespace ag = asyncgrad;

Model::Model(std::int64_t count, double dropout, const Sizes& sizes)
    : characters(count, sizes.features, {.standard_deviation = 0.02}),
      positions(sizes.context, sizes.features, {.standard_deviation = 0.02}),
      norm(sizes.features) {
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    blocks.emplace_back(sizes.features, sizes.heads,
                        ag::nn::TransformerBlockOptions{.causal = true, .dropout = dropout});
  }
}

ag::Tensor Model::operator()(const ag::Arg& indices) const {
  ag::Tensor x = characters(indices) + positions.weight.slice(0, indices->size(1));
  for (const ag::nn::TransformerBlock& block : blocks) x = block(x);
  return characters.scores(norm(x));
}

void Model::members(ag::nn::Members& m) {
  m("characters", characters);
  m("positions", positions);
  m("blocks", blocks);
  m("norm", norm);
}

ag::Tensor loss(const Model& model, const ag::Tensor& indices, const ag::Tensor& next) {
  const ag::Tensor scores = model(indices);
  return ag::mean(ag::nn::softmax_cross_entropy(scores.reshape({-1, scores.size(2)}), next.reshape({-1})));
}

std::string default_path() { return ASYNCGRAD_DATA_DIR "/kjv.txt"; }

Text read_text(const std::string& path, std::int64_t context) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw ag::experiment::BadInput(fmt::format("{}: cannot be read", path));
  if (static_cast<std::int64_t>(content.size()) <= context) {
    throw ag::experiment::BadInput(
        fmt::format("{}: needs more than {} characters, got {}", path, context, content.size()));
  }
  Text text{.alphabet = content, .indices = {}};
  std::ranges::sort(text.alphabet);
  const auto rest = std::ranges::unique(text.alphabet);
  text.alphabet.erase(rest.begin(), rest.end());
  std::vector<std::int64_t> indices;
  for (const char character : content) indices.push_back(static_cast<std::int64_t>(text.alphabet.find(character)));
  text.indices = ag::Tensor::from(indices, {indices.size()});
  return text;
}

Batch random_batch(const Text& text, std::int64_t count, std::int64_t context) {
  const double last = static_cast<double>(text.indices.numel() - context - 1);
  const ag::Tensor starts = ag::uniform({count, 1}, 0, last).to(ag::int64);
  const ag::Tensor places = starts + ag::arange(0, context, 1, {.dtype = ag::int64});
  return {.indices = ag::take(text.indices, places), .next = ag::take(text.indices, places + 1)};
}

std::string write_text(const Model& model, const Text& text, int count, std::uint64_t seed) {
  const ag::Inference inference;
  std::mt19937_64 random(seed);
  const auto context = static_cast<std::size_t>(model.positions.weight.size(0));
  const std::size_t line_end = text.alphabet.find('\n');
  std::vector<std::int64_t> written{line_end == std::string::npos ? 0 : static_cast<std::int64_t>(line_end)};
  std::string result;
  for (int i = 0; i < count; ++i) {
    const std::size_t begin = written.size() > context ? written.size() - context : 0;
    const std::vector<std::int64_t> seen(written.begin() + static_cast<std::ptrdiff_t>(begin), written.end());
    const ag::Tensor scores = model(ag::Tensor::from(seen, {1, seen.size()}));
    const std::vector<float> shares = ag::softmax(scores[0][-1]).to_vector<float>();
    std::discrete_distribution<std::int64_t> next(shares.begin(), shares.end());
    written.push_back(next(random));
    result += text.alphabet[static_cast<std::size_t>(written.back())];
  }
  return result;
}

}  // namespace gpt
