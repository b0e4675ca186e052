// The gradients of random networks, and the gradients of these gradients, agree with differences.
#include "tests/core/engine/random_layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

using Tensors = std::vector<Tensor>;

class RandomNetwork {
 public:
  RandomNetwork(std::uint64_t seed, bool is_second) : random_(seed), is_second_(is_second) {
    layers_.draw_for_second_order(is_second);
    const std::size_t count = 1 + random_() % 5;
    for (std::size_t i = 0; i < count; ++i) network_.push_back(layers_.draw());
    leaves_ = weights_.parameters();
    const std::int64_t examples = seed % 8 == 0 ? 60 : 2;  // of several tiles, or of one
    leaves_.push_back(parameter(randn({examples, 256}, {.dtype = float64, .generator = &generator_})));
    for (const Tensor& leaf : leaves_) {
      directions_.push_back(randn(leaf.shape(), {.dtype = float64, .generator = &generator_}));
    }
    place_ = generator_.place();
  }

  // The slope of the loss along the directions, from its gradients.
  double slope() {
    for (Tensor leaf : leaves_) leaf.zero_grad();
    (loss() + sum(weights_.table()) * 0).backward();  // the table's gradient becomes a tensor
    double slope = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (leaves_[i].grad().defined()) slope += sum(leaves_[i].grad() * directions_[i]).item();
    }
    return slope;
  }
  // The same slope from a difference of losses.
  double difference(double step) {
    move(step);
    const double above = loss().item();
    move(-2 * step);
    const double below = loss().item();
    move(step);
    return (above - below) / (2 * step);
  }

 private:
  void move(double step) {
    const NoGrad no_grad;
    for (std::size_t i = 0; i < leaves_.size(); ++i) Tensor(leaves_[i]) += directions_[i] * step;
  }
  Tensor loss() {
    generator_ = Generator(7, place_);  // the same numbers each time
    const Tensor& x = leaves_.back();
    Tensor h = x;
    for (const RandomLayers::Layer& layer : network_) h = layer(h);
    const Tensor loss = mean(square(h.reshape({-1}) - 0.25));
    if (!is_second_) return loss;
    return loss + sum(square(grad(loss, x, {}, {.create_graph = true})[0])) * 8;
  }

  std::mt19937_64 random_;
  Generator generator_{7};
  const RandomWeights weights_{generator_, float64};
  RandomLayers layers_{random_, generator_, weights_, Device()};
  std::vector<RandomLayers::Layer> network_;
  Tensors leaves_, directions_;
  std::uint64_t place_ = 0;
  bool is_second_;
};

bool is_near(double slope, double difference) { return std::abs(slope - difference) < 1e-6 * (1 + std::abs(slope)); }

class RandomNetworks : public testing::TestWithParam<bool> {};

TEST_P(RandomNetworks, HaveTheSlopesOfDifferences) {
  constexpr int networks = is_sanitized ? 20 : 200;
  for (std::uint64_t seed = 0; seed < networks; ++seed) {
    RandomNetwork network(seed, GetParam());
    const double slope = network.slope();
    // A shorter step does not reach a kink that lies within a longer one.
    std::vector<double> differences;
    for (const double step : {1e-6, 1e-7, 1e-8}) {
      differences.push_back(network.difference(step));
      if (is_near(slope, differences.back())) break;
    }
    EXPECT_TRUE(is_near(slope, differences.back()))
        << slope << " and " << testing::PrintToString(differences) << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(FirstAndSecondOrder, RandomNetworks, testing::Bool());

}  // namespace
}  // namespace asyncgrad::tests
