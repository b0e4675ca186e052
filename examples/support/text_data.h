// A text to learn from, and the text that a model writes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace text {

// A text as the numbers of its characters, in the order of their codes.
struct Text {
  std::string alphabet;
  asyncgrad::Tensor indices;  // int64

  std::int64_t characters() const { return static_cast<std::int64_t>(alphabet.size()); }
};
// examples/data/kjv.txt.
std::string default_path();
// Throws BadInput for a file that cannot be read, and for one of no more than `context` characters.
Text read(const std::string& path, std::int64_t context);

// `count` characters that are drawn one by one, after the end of a line. `scores` gives those of the character that
// comes next, (K), for all that is written. Blocks.
using Scores = std::function<asyncgrad::Tensor(const std::vector<std::int64_t>& written)>;
std::string write(const Text& text, const Scores& scores, int count, std::uint64_t seed);

}  // namespace text
