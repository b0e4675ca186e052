#include "examples/support/text_data.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "asyncgrad/experiment/bad_input.h"

namespace text {

namespace ag = asyncgrad;

std::string default_path() { return ASYNCGRAD_DATA_DIR "/kjv.txt"; }

Text read(const std::string& path, std::int64_t context) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw ag::experiment::BadInput(fmt::format("{}: cannot be read", path));
  if (static_cast<std::int64_t>(content.size()) <= context) {
    throw ag::experiment::BadInput(
        fmt::format("{}: needs more than {} characters, got {}", path, context, content.size()));
  }
  const std::set<char> characters(content.begin(), content.end());
  Text text{.alphabet = {characters.begin(), characters.end()}, .indices = {}};
  std::vector<std::int64_t> indices;
  for (const char character : content) indices.push_back(static_cast<std::int64_t>(text.alphabet.find(character)));
  text.indices = ag::Tensor::from(indices, {indices.size()});
  return text;
}

std::string write(const Text& text, const Scores& scores, int count, std::uint64_t seed) {
  const ag::Inference inference;
  std::mt19937_64 random(seed);
  const std::size_t line_end = text.alphabet.find('\n');
  std::vector<std::int64_t> written{line_end == std::string::npos ? 0 : static_cast<std::int64_t>(line_end)};
  std::string result;
  for (int i = 0; i < count; ++i) {
    const std::vector<float> shares = ag::softmax(scores(written)).to_vector<float>();
    written.push_back(std::discrete_distribution<std::int64_t>(shares.begin(), shares.end())(random));
    result += text.alphabet[static_cast<std::size_t>(written.back())];
  }
  return result;
}

}  // namespace text
