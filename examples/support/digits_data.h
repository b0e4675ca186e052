// The handwritten digits of examples/data, read and split.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "asyncgrad/asyncgrad.h"

namespace digits {

inline constexpr int pixels = 64, classes = 10, darkest = 16;

struct Data {
  asyncgrad::Tensor images;  // (N, 64), float32, 0 (white) to 1 (black)
  asyncgrad::Tensor labels;  // (N), int64, the digits

  std::int64_t size() const { return images.size(0); }
};

struct Split {
  Data train, held_out;
};

// Reads a file of lines with 64 pixels of 0 to 16 and a digit, separated by commas, and holds out a fifth of them,
// always the same ones for the same file. Throws support::BadInput if there is no such file, if a line is anything
// else, or if there are fewer than five.
Split load(const std::string& path);

// The images as (N, 1, edge, edge), interpolated linearly between their pixels. Queued.
Split enlarged(const Split& split, std::int64_t edge);

// Batches of an endless series: the data again and again, each time in another random order. Every batch has `size`
// images, or all that there are.
class Batches {
 public:
  Batches(Data data, std::int64_t size, std::mt19937_64& random);
  // Queues the reading of the next ones.
  Data next();

 private:
  Data data_;
  std::int64_t size_, at_ = 0;
  std::mt19937_64& random_;
  asyncgrad::Tensor order_;
};

// The file in the source tree.
std::string default_path();

// The numbers 0 to count - 1 in random order, as a tensor (count) of int64.
asyncgrad::Tensor shuffled(std::int64_t count, std::mt19937_64& random);

}  // namespace digits
