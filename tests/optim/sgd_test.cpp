#include "asyncgrad/optim/sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/tests/optim/gradients.h"
#include "asyncgrad/tests/support/message_of.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

// The formula of sgd.h, written plainly.
class Reference {
 public:
  Reference(Values parameter, SGDOptions options) : p_(std::move(parameter)), v_(p_.size(), 0), options_(options) {}
  void step(const Values& gradient) {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const double g = gradient[i] + options_.weight_decay * p_[i];
      v_[i] = options_.momentum * v_[i] + g;
      p_[i] -= options_.lr * (options_.nesterov ? g + options_.momentum * v_[i] : v_[i]);
    }
  }
  const Values& parameter() const { return p_; }

 private:
  Values p_, v_;
  SGDOptions options_;
};

TEST(SGD, FollowsTheFormulaWithEveryOption) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double weight_decay : {0.0, 0.1}) {
      for (const bool nesterov : {false, true}) {
        if (nesterov && momentum == 0) continue;
        SCOPED_TRACE(testing::Message() << momentum << " " << weight_decay << " " << nesterov);
        const SGDOptions options{.lr = 0.3, .momentum = momentum, .weight_decay = weight_decay, .nesterov = nesterov};
        const Values a{1, -2, 3}, b{0.5};
        const Tensor p = leaf(a), q = leaf(b);
        Reference p_reference(a, options), q_reference(b, options);
        SGD sgd({p, q}, options);
        for (int step = 0; step < 5; ++step) {
          sgd.zero_grad();
          give_gradient(p, gradient_of_step(step, 3));
          p_reference.step(gradient_of_step(step, 3));
          if (step != 1) {  // q is skipped once, its velocity kept
            give_gradient(q, gradient_of_step(step, 1));
            q_reference.step(gradient_of_step(step, 1));
          }
          sgd.step();
        }
        EXPECT_THAT(p.to_vector<double>(), Pointwise(DoubleNear(1e-12), p_reference.parameter()));
        EXPECT_THAT(q.to_vector<double>(), Pointwise(DoubleNear(1e-12), q_reference.parameter()));
      }
    }
  }
}

TEST(SGD, AParameterMayGetItsFirstGradientLater) {
  const SGDOptions options{.lr = 0.1, .momentum = 0.5};
  const Tensor p = leaf({1}), late = leaf({2});
  SGD sgd({p, late}, options);
  give_gradient(p, {1});
  sgd.step();
  give_gradient(late, {1});
  sgd.step();
  EXPECT_NEAR(late.item(), 1.9, 1e-12);
  EXPECT_NEAR(p.item(), 1 - 0.1 - 0.15, 1e-12);  // its gradient stayed
}

TEST(SGD, AStepIsOneOperation) {
  const Tensor p = leaf({1, 2}), q = leaf({3}), r = leaf({4});
  SGD sgd({p, q, r}, {.momentum = 0.9});
  for (const Tensor& leaf : {p, q, r}) sum(leaf).backward();
  sgd.step();  // makes the velocities
  const auto before = engine_figures().operations;
  sgd.step();
  EXPECT_EQ(engine_figures().operations - before, 1);
  sgd.zero_grad();
  EXPECT_EQ(engine_figures().operations - before, 1);
  EXPECT_FALSE(p.grad().defined());
}

TEST(SGD, ParametersOfTwoTypesAreTwoOperations) {
  const Tensor single = parameter(ones({2})), both = leaf({1, 1});
  SGD sgd({single, both}, {.lr = 0.5});
  sum(single).backward();
  sum(both).backward();
  const auto before = engine_figures().operations;
  sgd.step();
  EXPECT_EQ(engine_figures().operations - before, 2);
  EXPECT_THAT(single.to_vector<float>(), Each(0.5f));
  EXPECT_THAT(both.to_vector<double>(), Each(0.5));
}

TEST(SGD, AStepIsNotRecorded) {
  const Tensor p = leaf({1, 2});
  SGD sgd({p}, {.lr = 1});
  sum(p * p).backward();
  sgd.step();
  EXPECT_TRUE(p.requires_grad());
  sgd.zero_grad();
  sum(p * p).backward();  // of the new values, as of a leaf
  EXPECT_THAT(p.to_vector<double>(), ElementsAre(-1, -2));
  EXPECT_THAT(p.grad().to_vector<double>(), ElementsAre(-2, -4));
}

TEST(SGD, ATapeThatSavedTheOldValuesNotices) {
  const Tensor p = leaf({1, 2});
  SGD sgd({p});
  const Tensor loss = sum(p * p);
  sum(p).backward();
  sgd.step();
  EXPECT_NE(message_of([&] { loss.backward(); }), "nothing was thrown");
}

TEST(SGD, TheLearningRateMayChange) {
  const Tensor p = leaf({1});
  SGD sgd({p}, {.lr = 0.5});
  EXPECT_EQ(sgd.lr(), 0.5);
  give_gradient(p, {1});
  sgd.step();
  sgd.set_lr(0.25);
  EXPECT_EQ(sgd.lr(), 0.25);
  sgd.step();
  EXPECT_NEAR(p.item(), 0.25, 1e-12);
  EXPECT_THAT(message_of([&] { sgd.set_lr(-1); }), HasSubstr("lr must be finite and not negative, got -1"));
  EXPECT_EQ(sgd.lr(), 0.25);
}

TEST(SGD, WithoutGradientsAStepThrows) {
  SGD sgd({leaf({1}), leaf({2})});
  EXPECT_EQ(message_of([&] { sgd.step(); }), "[SGD] none of the 2 parameters has a gradient");
}

TEST(SGD, OptionsAreChecked) {
  const auto with = [](SGDOptions options) { return message_of([&] { SGD({leaf({1})}, options); }); };
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(with({.lr = infinity}), "[SGD] lr must be finite and not negative, got inf");
  EXPECT_THAT(with({.lr = nan}), HasSubstr("lr must be"));
  EXPECT_THAT(with({.momentum = -0.5}), HasSubstr("momentum must be finite and not negative, got -0.5"));
  EXPECT_THAT(with({.momentum = nan}), HasSubstr("momentum must be"));
  EXPECT_THAT(with({.weight_decay = -1}), HasSubstr("weight_decay must be"));
  EXPECT_EQ(with({.nesterov = true}), "[SGD] nesterov needs momentum, got momentum 0");
}

TEST(SGD, ParametersAreChecked) {
  const Tensor p = leaf({1});
  EXPECT_EQ(message_of([] { SGD({}); }), "[SGD] got no parameters");
  EXPECT_EQ(message_of([&] { SGD({p, ones({3})}); }), "[SGD] parameter 1 of shape (3) requires no gradient");
  EXPECT_EQ(message_of([&] { SGD({p, leaf({2}), p}); }), "[SGD] parameters 0 and 2 share their values");
  EXPECT_THAT(message_of([&] { SGD({p, Tensor()}); }), HasSubstr("[SGD]"));
}

TEST(SGD, LearnsALine) {
  manual_seed(1);
  nn::Dense line(1, 1);
  SGD sgd(nn::parameters(line), {.lr = 0.1, .momentum = 0.9});
  const Tensor x = arange(-1, 1, 0.125).reshape({16, 1}), y = x * 3 - 0.5;
  for (int step = 0; step < 200; ++step) {
    sgd.zero_grad();
    mean(nn::l2_loss(line(x), y)).backward();
    sgd.step();
  }
  EXPECT_NEAR(line.weight.item(), 3, 1e-3);
  EXPECT_NEAR(line.bias.item(), -0.5, 1e-3);
}

}  // namespace
}  // namespace asyncgrad::optim
