// Trains two networks against each other, with barriers and without: one draws digits, and the other tells them from
// digits that were written by hand. Two optimisers share the loop.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/digits_data.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

constexpr std::int64_t edge = 16;  // of an image

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 600, .batch_size = 64} {}
  double lr = 0.0005;
  std::int64_t noise = 32, width = 32;
  void options(ag::experiment::Options& o) {
    o("lr", lr, "Learning rate of both networks");
    o("noise", noise, "Random numbers from which a digit is drawn");
    o("width", width, "Channels of the images within the networks; smaller images have twice as many");
  }
};

// --- The networks of Radford et al. 2016, "Unsupervised representation learning with deep convolutional generative
// adversarial networks", for small images.

ag::Tensor leaky_relu(const ag::Arg& x) { return ag::leaky_relu(x, 0.2); }

// (N, C, H, W) -> (N, C, 2 H, 2 W): each pixel becomes four.
ag::Tensor doubled(const ag::Arg& x) {
  const std::int64_t count = x->size(0), channels = x->size(1), rows = x->size(2), columns = x->size(3);
  const ag::Tensor parts = x->reshape({count, channels, rows, 1, columns, 1});
  return ag::expand(parts, {count, channels, rows, 2, columns, 2}).reshape({count, channels, 2 * rows, 2 * columns});
}

// Noise (N, Z) -> images (N, 1, 16, 16).
ag::nn::Sequential generator(std::int64_t noise, std::int64_t width) {
  const auto to_images = [](const ag::Arg& x) { return x->reshape({x->size(0), -1, edge / 4, edge / 4}); };
  return {ag::nn::Dense(noise, 2 * width * edge / 4 * edge / 4),
          to_images,
          ag::nn::BatchNorm(2 * width),
          ag::relu,
          doubled,
          ag::nn::Conv2d(2 * width, width, 3, {}, {.padding = 1}),
          ag::nn::BatchNorm(width),
          ag::relu,
          doubled,
          ag::nn::Conv2d(width, 1, 3, ag::sigmoid, {.padding = 1})};
}

// Images (N, 1, 16, 16) -> scores (N, 1), which are positive for digits that were written by hand.
ag::nn::Sequential discriminator(std::int64_t width) {
  return {ag::nn::Conv2d(1, width, 4, leaky_relu, {.stride = 2, .padding = 1}),
          ag::nn::Conv2d(width, 2 * width, 4, leaky_relu, {.stride = 2, .padding = 1}), ag::nn::Flatten(),
          ag::nn::Dense(2 * width * edge / 4 * edge / 4, 1)};
}

struct Training {
  Settings settings;
  digits::Split data = digits::load(digits::default_path());
  ag::nn::Sequential generator = ::generator(settings.noise, settings.width);
  ag::nn::Sequential discriminator = ::discriminator(settings.width);
  ag::optim::AdamOptions options{.lr = settings.lr, .beta1 = 0.5};
  ag::optim::Adam generator_adam{ag::nn::parameters(generator), options};
  ag::optim::Adam discriminator_adam{ag::nn::parameters(discriminator), options};
  digits::Batches batches{data.train, settings.batch_size, settings.seed};

  void members(ag::nn::Members& m) {
    m("generator", generator);
    m("discriminator", discriminator);
    m("generator_adam", generator_adam);
    m("discriminator_adam", discriminator_adam);
    m("batches", batches);
  }
};

Training make(const Settings& settings) { return {settings}; }

// -log p of the answer that the images are real, or that they are not: p = sigmoid(score), or 1 - p.
ag::Tensor loss_of(const ag::Tensor& scores, bool are_real) {
  return ag::mean(ag::softplus(are_real ? -scores : scores));
}

ag::Tensor step(Training& t) {
  const ag::Tensor real = digits::enlarged(t.batches.next().images, edge);
  const ag::Tensor drawn = t.generator(ag::randn({real.size(0), t.settings.noise}));

  const ag::Tensor loss = loss_of(t.discriminator(real), true) + loss_of(t.discriminator(drawn.detach()), false);
  loss.backward();              // queued
  t.discriminator_adam.step();  // queued
  t.discriminator_adam.zero_grad();

  ag::Tensor generator_loss = loss_of(t.discriminator(drawn), true);  // that the new discriminator is deceived
  generator_loss.backward();
  t.generator_adam.step();
  t.generator_adam.zero_grad();
  t.discriminator_adam.zero_grad();  // it is a part of that loss
  return generator_loss;
}

// The images (N, 1, 16, 16) side by side.
std::string text_of(const ag::Tensor& images) {
  constexpr std::string_view inks = " .:-=+*#%@";
  const std::vector<float> pixels = ag::permute(images.reshape({-1, edge, edge}), {1, 0, 2}).to_vector<float>();
  const std::size_t line_size = pixels.size() / edge;
  std::string text;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto ink = static_cast<std::size_t>(std::lround(9 * pixels[i]));
    text += ink < inks.size() ? inks[ink] : '?';  // if a training failed, a pixel may be no number
    if ((i + 1) % line_size == 0) text += '\n';
  }
  return text;
}

void report(const Training& t) {
  const ag::Inference inference;
  const ag::Tensor real = digits::enlarged(digits::tensors_of(t.data.held_out).images, edge);
  const ag::Tensor drawn = t.generator(ag::randn({real.size(0), t.settings.noise}));
  const auto taken_for_real = [&](const ag::Tensor& images) {
    return 100 * ag::mean(t.discriminator(images) > 0).item();
  };
  support::print("{:.1f} % of the digits held out are taken for real, and {:.1f} % of those that it draws:\n{}",
                 taken_for_real(real), taken_for_real(drawn), text_of(drawn.slice(0, 6)));
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
