// Trains a small transformer on a GPU, a real or an emulated one, and on the CPU.
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"
#include "tests/backends/cuda/training.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t kinds = 11, features = 24, heads = 2, context = 16, batch = 2;
constexpr int transformer_steps = looks_for_races ? 4 : is_sanitized ? 8 : 20;

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
std::vector<float> train_transformer(Device device, LaunchGraph* graph) {
  Generator generator(7);
  Model model(device, generator);
  optim::AdamW adam(nn::parameters(model), {.lr = 0.01});
  std::vector<std::int64_t> text;
  for (std::int64_t i = 0; i < 200; ++i) text.push_back(i * i % kinds);
  const Tensor characters = Tensor::from(text, {200}, device);
  return losses_of(transformer_steps, device, graph, [&] {
    const Tensor starts =
        uniform({batch, 1}, 0, 200 - context - 1, {.device = device, .generator = &generator}).to(int64);
    const Tensor places = starts + arange(0, context, 1, {.dtype = int64, .device = device});
    const Tensor scores = model(take(characters, places)).reshape({batch * context, kinds});
    const Tensor next = take(characters, places + 1).reshape({batch * context});
    const Tensor loss = mean(nn::softmax_cross_entropy(scores, next));
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  });
}

using CudaTransformer = OnFirstGpu;
TEST_F(CudaTransformer, TrainsToTheCpusLosses) { expect_the_cpus_losses(train_transformer, 0.8); }

}  // namespace
}  // namespace asyncgrad::tests
