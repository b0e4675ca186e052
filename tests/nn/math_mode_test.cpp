// Training in bf16 mode.
#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::nn {
namespace {

// The chapter's network, smaller: the loss of each of some steps.
std::vector<float> losses(MathMode mode) {
  set_math_mode(mode);
  manual_seed(1);
  const Sequential net{Dense(64, 256, relu), Dense(256, 64, relu), Dense(64, 1)};
  optim::SGD sgd(parameters(net), {.lr = 0.01});
  std::vector<Tensor> steps;
  for (int step = 0; step < 60; ++step) {
    const Tensor x = randn({128, 64}), y = ones({128, 1});
    steps.push_back(mean(l2_loss(net(x), y)));
    sgd.zero_grad();
    steps.back().backward();
    sgd.step();
  }
  set_math_mode(MathMode::float32);
  std::vector<float> values;
  for (const Tensor& loss : steps) values.push_back(loss.item<float>());
  return values;
}

TEST(Bf16Training, LossIsThatOfFloat32WithinOnePercent) {
  const std::vector<float> float32 = losses(MathMode::float32), bf16 = losses(MathMode::bf16);
  EXPECT_LT(float32.back(), 0.5F * float32.front());
  EXPECT_NE(float32, bf16);
  for (std::size_t i = 0; i < bf16.size(); ++i) EXPECT_NEAR(bf16[i], float32[i], 0.01F * float32[i]) << "step " << i;
}

TEST(Bf16Training, BitsDependOnNeitherThreadsNorSchedule) {
  const EngineOptions previous = engine_options();
  set_engine_options({.schedule = Schedule::immediate});
  const std::vector<float> expected = losses(MathMode::bf16);
  for (const int workers : {1, 2, 5}) {
    set_engine_options({.workers = workers});
    EXPECT_EQ(losses(MathMode::bf16), expected) << workers << " workers";
  }
  set_engine_options(previous);
}

}  // namespace
}  // namespace asyncgrad::nn
