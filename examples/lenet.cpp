// Trains LeNet to read handwritten digits, with barriers and without, and tests it on digits that it has not seen.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <optional>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/digits_data.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 900, .batch_size = 64} {}
  double lr = 0.002;
  void options(ag::experiment::Options& o) { o("lr", lr, "Learning rate"); }
};

// LeCun et al. 1998, "Gradient-based learning applied to document recognition", with relu and maxima.
struct Training {
  Settings settings;
  digits::Split data = digits::load(digits::default_path());
  ag::nn::Sequential net{ag::nn::Conv2d(1, 6, 5, ag::relu, {.padding = 2}),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Conv2d(6, 16, 5, ag::relu),
                         ag::nn::MaxPool2d(2),
                         ag::nn::Flatten(),
                         ag::nn::Dense(400, 120, ag::relu),
                         ag::nn::Dense(120, 84, ag::relu),
                         ag::nn::Dense(84, digits::classes)};
  ag::optim::Adam adam{ag::nn::parameters(net), {.lr = settings.lr}};
  ag::data::Batches<digits::Data> batches{
      data.train,
      {.batch_size = std::min<std::int64_t>(settings.batch_size, std::ssize(data.train)),
       .seed = settings.seed,
       .drop_last = true}};

  void members(ag::nn::Members& m) { m("net", net); }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor step(Training& t) {
  std::optional<std::vector<ag::Tensor>> batch = t.batches.next();  // read by other threads
  if (!batch) batch = t.batches.next();                             // the first of another epoch
  const ag::Tensor images = digits::enlarged((*batch)[0], 28), labels = (*batch)[1];
  ag::Tensor loss = ag::mean(ag::nn::softmax_cross_entropy(t.net(images), labels));  // not computed yet
  t.adam.zero_grad();
  loss.backward();  // queued
  t.adam.step();    // queued
  return loss;
}

void report(const Training& t) {
  const ag::Inference inference;
  const digits::Tensors held_out = digits::tensors_of(t.data.held_out);
  const ag::Tensor is_right = ag::equal(ag::argmax(t.net(digits::enlarged(held_out.images, 28)), 1), held_out.labels);
  std::cout << "it reads " << std::fixed << std::setprecision(2) << 100 * ag::mean(is_right.to(ag::float32)).item()
            << " % of the digits held out\n";
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
