// Trains a small transformer on a GPU, a real or an emulated one, and on the CPU.
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t kinds = 11, features = 24, heads = 2, context = 16, batch = 2, steps = 20;

// indices (N, context) -> scores of the character that comes next, (N, context, kinds).
struct Model {
  Model(Device device, Generator& generator)
      : characters(kinds, features, {.standard_deviation = 0.3, .device = device, .generator = &generator}),
        positions(context, features, {.standard_deviation = 0.3, .device = device, .generator = &generator}),
        norm(features, {.device = device}) {
    for (int i = 0; i < 2; ++i) {
      blocks.emplace_back(
          features, heads,
          nn::TransformerBlockOptions{.causal = true, .dropout = 0.1, .device = device, .generator = &generator});
    }
  }
  Tensor operator()(const Tensor& indices) const {
    Tensor x = characters(indices) + positions.weight;
    for (const nn::TransformerBlock& block : blocks) x = block(x);
    return characters.scores(norm(x));
  }
  void members(nn::Members& m) {
    m("characters", characters);
    m("positions", positions);
    m("blocks", blocks);
    m("norm", norm);
  }

  nn::Embedding characters, positions;
  std::vector<nn::TransformerBlock> blocks;
  nn::LayerNorm norm;
};

// The losses of a training, each step of which is a call of the graph, or null.
std::vector<float> train(Device device, LaunchGraph* graph) {
  Generator generator(7);
  Model model(device, generator);
  optim::AdamW adam(nn::parameters(model), {.lr = 0.01});
  std::vector<std::int64_t> text;
  for (std::int64_t i = 0; i < 200; ++i) text.push_back(i * i % kinds);
  const Tensor characters = Tensor::from(text, {200}, device);
  Tensor losses = zeros({steps}, {.device = device});
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto body = [&] {
      const Tensor starts =
          uniform({batch, 1}, 0, 200 - context - 1, {.device = device, .generator = &generator}).to(int64);
      const Tensor places = starts + arange(0, context, 1, {.dtype = int64, .device = device});
      const Tensor scores = model(take(characters, places)).reshape({batch * context, kinds});
      const Tensor next = take(characters, places + 1).reshape({batch * context});
      const Tensor loss = mean(nn::softmax_cross_entropy(scores, next));
      adam.zero_grad();
      loss.backward();
      adam.step();
      return loss.detach();
    };
    const Tensor loss = graph != nullptr ? (*graph)(body) : body();
    losses.slice(i, i + 1).copy_(loss.reshape({1}));
  }
  return losses.to_vector<float>();
}

using CudaTransformer = OnFirstGpu;
TEST_F(CudaTransformer, TrainsToTheCpusLosses) {
  const std::vector<float> expected = train(DeviceType::cpu, nullptr), losses = train("cuda:0", nullptr);
  EXPECT_LT(expected.back(), 0.8F * expected.front()) << "it learns";
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-3) << "in step " << i;
  LaunchGraph step("training step");
  EXPECT_EQ(train("cuda:0", &step), losses);
  EXPECT_GT(step.replays(), 0);
}

}  // namespace
}  // namespace asyncgrad::tests
