// However long a program runs, the process does not grow.
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {
namespace {

class Growth : public testing::TestWithParam<bool> {
 protected:
  // The queue is short: as many objects as live at once at most have then lived so before the warm-up is over.
  Growth() { set_engine_options({.workers = 2, .queue_capacity = 256, .inline_tiny = GetParam()}); }
  ~Growth() override { set_engine_options({}); }
};

TEST_P(Growth, OfTinyTrainingStepsIsNone) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer keeps what was given back";
#endif
  constexpr int warm_up = 5000, steps = 20'000;
  const nn::Sequential net{nn::Dense(4, 4, relu), nn::Dense(4, 1)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01, .momentum = 0.9});
  const Tensor x = randn({8, 4}), y = ones({8, 1});
  const auto train = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Tensor loss = mean(nn::l2_loss(net(x), y));
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    mark().wait();
    return resident_bytes();
  };
  const std::int64_t before = train(warm_up);
  EXPECT_LT(train(steps) - before, std::int64_t{1} << 20);
}

INSTANTIATE_TEST_SUITE_P(AtTheCallAndQueued, Growth, testing::Bool());

}  // namespace
}  // namespace asyncgrad::tests
