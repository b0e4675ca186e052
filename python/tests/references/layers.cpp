// Writes layers.safetensors: what a C++ program saves of a network, an input and what the network makes of it, which
// test_layers.py loads. Build it with the library, and run it in this folder when names of members change.
#include "asyncgrad/asyncgrad.h"

namespace ag = asyncgrad;

int main() {
  ag::Generator generator(7);
  ag::nn::Sequential net{
      ag::nn::Conv2d(2, 4, 3, ag::relu, {.padding = 1, .generator = &generator}),
      ag::nn::BatchNorm(4),
      ag::nn::MaxPool2d(2),
      ag::nn::Conv2d(4, 4, 3, {}, {.groups = 2, .bias = false, .generator = &generator}),
      ag::nn::GlobalAvgPool2d(),
      ag::nn::LayerNorm(4),
      ag::nn::Dense(4, 3, {}, {.generator = &generator}),
  };
  const ag::Tensor x = ag::randn({2, 2, 8, 8}, {.generator = &generator});
  net(x);  // moves the running statistics
  const ag::Evaluation evaluation;
  const ag::Tensor y = net(x);
  ag::nn::save("layers.safetensors", net);
  ag::nn::save("layers_values.safetensors", {{"x", x}, {"y", y}});
  ag::wait_all();
}
