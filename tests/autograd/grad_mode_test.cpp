#include "asyncgrad/autograd/grad_mode.h"

#include <thread>

#include "tests/autograd/support.h"

namespace asyncgrad {
namespace {

TEST(NoGrad, KeepsOperationsOffTheTape) {
  const Tensor x = parameter(ones({2}));
  {
    const NoGrad no_grad;
    EXPECT_FALSE(grad_enabled());
    EXPECT_TRUE(is_training());
    EXPECT_FALSE((x * 2).requires_grad());
    { const NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(Inference, IsNoGradAndEvaluation) {
  {
    const Inference inference;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(is_training());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(is_training());
}

TEST(Evaluation, KeepsTheTape) {
  const Tensor x = parameter(ones({2}));
  {
    const Evaluation evaluation;
    EXPECT_FALSE(is_training());
    EXPECT_TRUE((x * 2).requires_grad());
    { const Inference inner; }
    EXPECT_FALSE(is_training());
    EXPECT_TRUE(grad_enabled());
  }
  EXPECT_TRUE(is_training());
}

TEST(NoGrad, BelongsToItsThread) {
  const NoGrad no_grad;
  bool enabled_there = false;
  std::thread([&] { enabled_there = grad_enabled(); }).join();
  EXPECT_TRUE(enabled_there);
}

}  // namespace
}  // namespace asyncgrad
