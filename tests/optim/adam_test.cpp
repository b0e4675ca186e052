#include "asyncgrad/optim/adam.h"

#include <cmath>
#include <memory>
#include <vector>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

// The formula of adam.h, written plainly.
class AdamReference {
 public:
  AdamReference(Values parameter, AdamOptions options, bool decoupled = false)
      : p_(std::move(parameter)), m_(p_.size(), 0), v_(p_.size(), 0), options_(options), decoupled_(decoupled) {}
  void step(const Values& gradient) {
    const AdamOptions& o = options_;
    ++t_;
    for (std::size_t i = 0; i < p_.size(); ++i) {
      double g = gradient[i];
      if (decoupled_) {
        p_[i] -= o.lr * o.weight_decay * p_[i];
      } else {
        g += o.weight_decay * p_[i];
      }
      m_[i] = o.beta1 * m_[i] + (1 - o.beta1) * g;
      v_[i] = o.beta2 * v_[i] + (1 - o.beta2) * g * g;
      const double m_hat = m_[i] / (1 - std::pow(o.beta1, t_)), v_hat = v_[i] / (1 - std::pow(o.beta2, t_));
      p_[i] -= o.lr * m_hat / (std::sqrt(v_hat) + o.epsilon);
    }
  }
  const Values& parameter() const { return p_; }

 private:
  Values p_, m_, v_;
  AdamOptions options_;
  bool decoupled_;
  int t_ = 0;
};

// Adam, or AdamW where the weight decay is decoupled from the gradient.
std::unique_ptr<Optimizer> made(const std::vector<Tensor>& parameters, const AdamOptions& o, bool decoupled) {
  if (!decoupled) return std::make_unique<Adam>(parameters, o);
  return std::make_unique<AdamW>(parameters, AdamWOptions{o.lr, o.beta1, o.beta2, o.epsilon, o.weight_decay});
}

Values some_values(std::size_t size) {
  Values values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = 2 * std::cos(static_cast<double>(i));
  return values;
}

TEST(Adam, FollowsTheFormulaWithEveryOption) {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const bool decoupled : {false, true}) {
      for (const double epsilon : {1e-8, 0.5}) {
        SCOPED_TRACE(testing::Message() << weight_decay << " " << decoupled << " " << epsilon);
        const AdamOptions options{
            .lr = 0.3, .beta1 = 0.8, .beta2 = 0.95, .epsilon = epsilon, .weight_decay = weight_decay};
        const Values a{1, -2, 3}, b{0.5};
        const std::unique_ptr<Optimizer> adam = made({leaf(a), leaf(b)}, options, decoupled);
        expect_steps_of<AdamReference>({{a, options, decoupled}, {b, options, decoupled}}, *adam);
      }
    }
  }
}

// By hand, with betas of a half. Gradients 2, -1: m = 1, v = 2, corrected 2, 4; then m = 0, v = 1.5, corrected 0, 2.
TEST(Adam, TwoStepsByHand) {
  const Tensor p = leaf({1});
  Adam adam({p}, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.5, .epsilon = 2});
  give_gradient(p, {2});
  adam.step();
  EXPECT_NEAR(p.item(), 1 - 0.5 * 2 / (2 + 2), 1e-15);
  adam.zero_grad();
  give_gradient(p, {-1});
  adam.step();
  EXPECT_NEAR(p.item(), 0.75, 1e-15);
  // m = 1, v = 2.75; 1 - 0.5^3 = 0.875
  adam.zero_grad();
  give_gradient(p, {2});
  adam.step();
  EXPECT_NEAR(p.item(), 0.75 - 0.5 * (1 / 0.875) / (std::sqrt(2.75 / 0.875) + 2), 1e-15);
}

// The first step is lr long, whatever the gradient's length.
TEST(Adam, TheFirstStepIsAsLongAsTheLearningRate) {
  const Tensor p = leaf({0, 0, 0});
  Adam adam({p});
  give_gradient(p, {1e-3, -1, 1e6});
  adam.step();
  EXPECT_THAT(p.to_vector<double>(), Pointwise(DoubleNear(2e-8), Values{-1e-3, 1e-3, -1e-3}));
}

// The parameter is 2, its gradient 1 and the weight decay 0.5. In Adam the gradient becomes 1 + 0.5 * 2 = 2. In AdamW
// it stays 1, and the parameter loses lr * 0.5 of itself besides.
TEST(Adam, WeightDecayByHand) {
  const auto after_a_step = [](bool decoupled) {
    const Tensor p = leaf({2});
    const auto adam = made({p}, {.lr = 0.25, .epsilon = 1, .weight_decay = 0.5}, decoupled);
    give_gradient(p, {1});
    adam->step();
    return p.item();
  };
  EXPECT_NEAR(after_a_step(false), 2 - 0.25 * 2 / (2 + 1), 1e-14);
  EXPECT_NEAR(after_a_step(true), 2 - 0.25 * 0.5 * 2 - 0.25 * 1 / (1 + 1.0), 1e-14);
}

TEST(Adam, InFloat32EverySizeFollowsTheReference) {
  const AdamOptions options{.lr = 0.01, .weight_decay = 0.01};
  for (const std::size_t size : {1, 7, 15, 16, 17, 1000, 65537}) {
    SCOPED_TRACE(size);
    const Values start = some_values(size);
    const Tensor p = parameter(Tensor::from(start, {size}).to(float32));
    AdamReference reference(start, options);
    Adam adam({p}, options);
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      sum(p * Tensor::from(gradient_of_step(step, size), {size}).to(float32)).backward();
      adam.step();
      reference.step(gradient_of_step(step, size));
    }
    EXPECT_THAT(p.detach().to(float64).to_vector<double>(), Pointwise(DoubleNear(2e-6), reference.parameter()));
  }
}

TEST(Adam, ManySmallParametersAreOneOperation) {
  std::vector<Tensor> parameters;
  std::vector<AdamReference> references;
  for (std::size_t i = 0; i < 300; ++i) {
    parameters.push_back(leaf(some_values(1 + i % 20)));
    references.emplace_back(some_values(1 + i % 20), AdamOptions{.lr = 0.1});
  }
  Adam adam(parameters, {.lr = 0.1});
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Values gradient = gradient_of_step(step + static_cast<int>(i), references[i].parameter().size());
      give_gradient(parameters[i], gradient);
      references[i].step(gradient);
    }
    const auto before = engine_figures().operations;
    adam.step();
    EXPECT_TRUE(step == 0 || engine_figures().operations - before == 1);  // the first one makes the moments
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_THAT(parameters[i].to_vector<double>(), Pointwise(DoubleNear(1e-13), references[i].parameter()));
  }
}

TEST(Adam, ParametersAtDifferentStepsAreOneOperation) {
  const Tensor p = leaf({1}), late = leaf({2});
  Adam adam({p, late}, {.lr = 0.1});
  give_gradient(p, {1});
  adam.step();
  adam.step();
  give_gradient(late, {1});
  adam.step();  // makes the moments of the late one
  const auto before = engine_figures().operations;
  adam.step();
  EXPECT_EQ(engine_figures().operations - before, 1);
  EXPECT_NEAR(p.item(), 1 - 4 * 0.1, 1e-7);
  EXPECT_NEAR(late.item(), 2 - 2 * 0.1, 1e-7);
}

TEST(Adam, ItsOwnOptionsAreChecked) {
  const auto with = [](AdamOptions options) { return message_of([&] { Adam({leaf({1})}, options); }); };
  const double nan = std::nan("");
  EXPECT_EQ(with({.beta1 = 1}), "[Adam] beta1 must be less than 1, got 1");
  EXPECT_THAT(with({.beta1 = -0.5}), HasSubstr("beta1 must be finite and not negative, got -0.5"));
  EXPECT_EQ(with({.beta2 = 1.5}), "[Adam] beta2 must be less than 1, got 1.5");
  EXPECT_THAT(with({.beta2 = nan}), HasSubstr("beta2 must be"));
  EXPECT_THAT(with({.epsilon = -1e-8}), HasSubstr("epsilon must be"));
  EXPECT_EQ(message_of([] { AdamW({leaf({1})}, {.beta1 = 1}); }), "[AdamW] beta1 must be less than 1, got 1");
}

}  // namespace
}  // namespace asyncgrad::optim
