// The process does not grow, however long a program runs.
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

class Growth : public testing::TestWithParam<bool> {
 protected:
  // The queue is short, so that the most objects that ever live at once do so during the warm-up already.
  Growth() { set_engine_options({.workers = 2, .queue_capacity = 256, .inline_tiny = GetParam()}); }
  ~Growth() override { set_engine_options({}); }
};

TEST_P(Growth, OfTinyTrainingStepsIsNone) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer keeps what was given back";
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
