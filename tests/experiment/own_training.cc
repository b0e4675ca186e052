// A program as a user may write it: `make` returns a pointer to what can be neither copied nor moved, parameters come
// from a function, and options are of every kind.
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() {
    batches = 6;
    seed = 3;
  }
  int layers = 2;
  std::int64_t features = 4;
  double lr = 0.1, bound = std::numeric_limits<double>::infinity();
  bool biased = false;
  std::string greeting = "hello";
  std::vector<std::int64_t> widths{5, 6, 7};
  void options(ag::experiment::Options& o) {
    o("layers", layers, "Number of layers");
    o("features", features, "Number of features");
    o("lr", lr, "Learning rate");
    o("bound", bound, "Of nothing");
    o("biased", biased, "Adds one to the inputs");
    o("greeting", greeting, "What is said at the end");
    o("widths", widths, "Three widths");
  }
};

class Training {
 public:
  explicit Training(const Settings& settings) : settings_(settings) {
    for (int i = 0; i < settings.layers; ++i) layers_.emplace_back(settings.features, settings.features, ag::tanh);
    sgd_ = std::make_unique<ag::optim::SGD>(parameters(), ag::optim::SGDOptions{.lr = settings.lr});
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  std::vector<ag::Tensor> parameters() const {
    std::vector<ag::Tensor> all;
    for (const ag::nn::Dense& layer : layers_) all.insert(all.end(), {layer.weight, layer.bias});
    return all;
  }
  ag::Tensor step() {
    ag::Tensor x = ag::randn({settings_.batch_size, settings_.features}) + (settings_.biased ? 1 : 0);
    for (const ag::nn::Dense& layer : layers_) x = layer(x);
    ag::Tensor loss = ag::mean(ag::square(x));
    sgd_->zero_grad();
    loss.backward();
    sgd_->step();
    return loss;
  }
  void report() const { std::cout << settings_.greeting << " from " << settings_.device.str() << '\n'; }

 private:
  Settings settings_;
  std::vector<ag::nn::Dense> layers_;
  std::unique_ptr<ag::optim::SGD> sgd_;
};

int main(int argc, char** argv) {
  return ag::experiment::main(
      argc, argv, [](const Settings& settings) { return std::make_unique<Training>(settings); }, &Training::step,
      &Training::report);
}
