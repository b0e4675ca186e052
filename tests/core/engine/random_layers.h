// Pieces of networks drawn at random.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// The state of training so far. It belongs to the layers that are drawn, several of which share it.
class RandomWeights {
 public:
  explicit RandomWeights(Generator& generator, DType dtype = float32);
  std::vector<Tensor> parameters() const;
  const Tensor& running_mean() const { return running_mean_; }
  const Tensor& table() const { return embedding_.weight; }  // whose gradient may be kept by rows
  void members(nn::Members& m);

 private:
  friend class RandomLayers;
  Tensor kernel_, kernel_bias_, channel_scale_, channel_shift_;  // of images of 4 channels
  Tensor matrix_, bias_, scale_, shift_;                         // of rows of 16
  Tensor running_mean_;                                          // of the channels
  nn::GRU gru_;
  nn::LSTM lstm_;
  nn::Embedding embedding_;
};

// Draws layers. A layer takes a tensor with 256 elements for each example, in any shape and of the weights' type, and
// returns one with as many. It may be called again, and then does the same with other random numbers.
class RandomLayers {
 public:
  using Layer = std::function<Tensor(const Tensor& h)>;

  // The references must outlive the layers. Some layers copy to the device `other` and back.
  RandomLayers(std::mt19937_64& random, Generator& generator, const RandomWeights& weights, Device other)
      : random_(random), generator_(generator), weights_(weights), other_(other) {}

  // Draws only layers whose gradients have gradients from now on, or all layers again. Some of the program's own have
  // none.
  void draw_for_second_order(bool is_second) { is_second_ = is_second; }
  // `depth`: how deep layers may be nested.
  Layer draw(int depth = 2);
  // Draws a layer whose operation, or an operation that it is composed of, fails while it runs.
  Layer draw_fault();

 private:
  std::size_t draw_below(std::size_t bound) { return random_() % bound; }
  Layer of_images();
  Layer of_rows();
  Layer of_sequences();
  Layer of_indices();
  Layer of_any_shape();
  Layer of_ones_own();
  Layer of_layers(int depth);

  std::mt19937_64& random_;
  Generator& generator_;
  const RandomWeights& weights_;
  Device other_;
  bool is_second_ = false;
};

}  // namespace asyncgrad::tests
