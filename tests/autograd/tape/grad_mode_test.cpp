#include "asyncgrad/autograd/grad_mode.h"

#include <thread>

#include "tests/autograd/support.h"

namespace asyncgrad {
namespace {

using tests::expect_near;
using tests::float64_tensor;

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

TEST(EnableGrad, RecordsWithinScopesThatDoNot) {
  const Tensor x = parameter(ones({2}));
  {
    const Inference inference;
    const EnableGrad enable_grad;
    EXPECT_TRUE(grad_enabled());
    EXPECT_FALSE(is_training());
    EXPECT_EQ(grad(sum(x * x), {x})[0].to_vector<float>(), (std::vector<float>{2, 2}));
    { const NoGrad no_grad; }
    EXPECT_TRUE(grad_enabled());
  }
  const NoGrad no_grad;
  { const EnableGrad enable_grad; }
  EXPECT_FALSE(grad_enabled());
}

// Steps of dx/dt = -k x^3 whose gradient goes back along the steps, each of which is computed again.
Tensor integrated(const Tensor& x, const Tensor& k) {
  constexpr int steps = 5;
  const auto step = [](const Tensor& state, const Tensor& rate) { return state - 0.1 * rate * pow(state, 3); };
  std::vector<Tensor> states{x.detach()};
  for (int i = 0; i < steps; ++i) states.push_back(step(states.back(), k.detach()));
  return with_gradient("integrated", states.back(), {x, k}, [=](const GradientCall& call) {
    Tensor dx = call.dy(), dk = zeros(k.shape(), {.dtype = k.dtype()});
    for (int i = steps - 1; i >= 0; --i) {
      const EnableGrad enable_grad;
      Tensor state = states[static_cast<std::size_t>(i)].detach(), rate = k.detach();
      state.requires_grad_();
      rate.requires_grad_();
      const std::vector<Tensor> both = grad(step(state, rate), {state, rate}, {dx});
      dx = both[0];
      const NoGrad no_grad;
      dk = dk + both[1];
    }
    return std::vector<Tensor>{dx, dk};
  });
}

TEST(EnableGrad, LetsAGradientFunctionUseTheTape) {
  const Tensor x = parameter(float64_tensor({0.5, -1, 2}, {3})), k = parameter(float64_tensor({0.3, 0.7, 0.1}, {3}));
  sum(integrated(x, k)).backward();
  const Tensor dx = x.grad(), dk = k.grad();
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = y - 0.1 * k * pow(y, 3);
  const std::vector<Tensor> expected = grad(sum(y), {x, k});
  expect_near(dx, expected[0].to_vector<double>(), 1e-12);
  expect_near(dk, expected[1].to_vector<double>(), 1e-12);
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
