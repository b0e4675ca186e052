#include "examples/support/gpt.h"

#include <algorithm>
#include <iterator>

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

Batch random_batch(const text::Text& text, std::int64_t count, std::int64_t context) {
  const double last = static_cast<double>(text.indices.numel() - context - 1);
  const ag::Tensor starts = ag::uniform({count, 1}, 0, last).to(ag::int64);
  const ag::Tensor places = starts + ag::arange(0, context, 1, {.dtype = ag::int64});
  return {.indices = ag::take(text.indices, places), .next = ag::take(text.indices, places + 1)};
}

std::string write_text(const Model& model, const text::Text& text, int count, std::uint64_t seed) {
  const auto scores = [&](const std::vector<std::int64_t>& written) {
    const std::int64_t seen = std::min(std::ssize(written), model.positions.weight.size(0));
    return model(ag::Tensor::from(std::vector<std::int64_t>(written.end() - seen, written.end()), {1, seen}))[0][-1];
  };
  return text::write(text, scores, count, seed);
}

}  // namespace gpt
