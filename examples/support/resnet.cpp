#include "examples/support/resnet.h"

namespace resnet {

namespace ag = asyncgrad;

namespace {

// A convolution that keeps the size of its input unless it has a stride, and the normalisation of its channels.
ag::nn::Sequential normalised_conv(std::int64_t in, std::int64_t out, std::int64_t kernel_size, std::int64_t stride) {
  const ag::nn::Conv2dOptions options{.stride = stride, .padding = kernel_size / 2, .bias = false};
  return {ag::nn::Conv2d(in, out, kernel_size, {}, options), ag::nn::BatchNorm(out)};
}

// relu(body(x) + shortcut(x)).
struct Block {
  Block(std::int64_t in, std::int64_t out, std::int64_t stride)
      : body{normalised_conv(in, out, 3, stride), ag::relu, normalised_conv(out, out, 3, 1)} {
    if (in != out) shortcut.add(normalised_conv(in, out, 1, stride));  // else x itself
  }

  ag::Tensor operator()(const ag::Arg& x) const { return ag::relu(body(x) + shortcut(x)); }
  void members(ag::nn::Members& m) {
    m("body", body);
    m("shortcut", shortcut);
  }

  ag::nn::Sequential body, shortcut;
};

}  // namespace

ag::nn::Sequential resnet18(const Sizes& sizes) {
  std::int64_t width = sizes.width;
  ag::nn::Sequential net{normalised_conv(sizes.channels, width, 7, 2), ag::relu,
                         ag::nn::MaxPool2d(3, {.stride = 2, .padding = 1})};
  net.add(Block(width, width, 1)).add(Block(width, width, 1));
  for (int stage = 1; stage < 4; ++stage, width *= 2) {
    net.add(Block(width, 2 * width, 2)).add(Block(2 * width, 2 * width, 1));
  }
  return net.add(ag::nn::GlobalAvgPool2d()).add(ag::nn::Dense(width, sizes.classes));
}

}  // namespace resnet
