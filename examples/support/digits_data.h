// The handwritten digits of examples/data, read and split.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace digits {

inline constexpr int pixels = 64, classes = 10, darkest = 16;

// An image, from 0 (white) to 1 (black), and its digit. Data is what ag::data::Batches makes batches of.
using Item = std::pair<std::array<float, pixels>, std::int64_t>;
using Data = std::vector<Item>;

struct Split {
  Data train, held_out;
};

// Reads a file of lines with 64 pixels of 0 to 16 and a digit, separated by commas, and holds out a fifth of them,
// always the same ones for the same file. Throws BadInput if there is no such file, if a line is anything else, or if
// there are fewer than five.
Split load(const std::string& path);

// All of the images (N, 64) of float32 and the digits (N) of int64.
struct Tensors {
  asyncgrad::Tensor images, labels;
};
Tensors tensors_of(const Data& data);

// The images in batches without end: after an epoch comes the next one, in another order.
class Batches {
 public:
  // All images are a batch if there are fewer than `batch_size`.
  Batches(const Data& data, std::int64_t batch_size, std::uint64_t seed);
  Tensors next();  // is queued; other threads read it
  void members(asyncgrad::nn::Members& m) { batches_.members(m); }

 private:
  asyncgrad::data::Batches<Data> batches_;
};

// The share of the images whose likeliest digit is the right one, where `net` gives scores (N, 10) of images (N, 64).
// Blocks.
double accuracy(const asyncgrad::nn::Function& net, const Data& data);

// Images (N, 64) as (N, 1, edge, edge), interpolated linearly between their pixels. Queued.
asyncgrad::Tensor enlarged(const asyncgrad::Tensor& images, std::int64_t edge);

// The file in the source tree.
std::string default_path();

}  // namespace digits
