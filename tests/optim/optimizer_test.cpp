// What all optimisers have in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/optim/gradients.h"
#include "tests/support/message_of.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

// An optimiser, options by which it keeps state, and how near its values are to exact ones.
struct WithMomentum {
  using Optimizer = SGD;
  using Options = SGDOptions;
  static constexpr double tolerance = 1e-12;
  static constexpr int steps_of_a_line = 200;
  // How far a parameter goes down by the first step, without state.
  static double first_move(double lr, double gradient) { return lr * gradient; }
  static SGDOptions with_state(double lr) { return {.lr = lr, .momentum = 0.9, .weight_decay = 0.1}; }
  static std::string message(const std::string& rest) { return "[SGD] " + rest; }
};
struct WithMoments {
  using Optimizer = Adam;
  using Options = AdamOptions;
  static constexpr double tolerance = 1e-7;
  static constexpr int steps_of_a_line = 400;
  static double first_move(double lr, double gradient) { return std::copysign(lr, gradient); }
  static AdamOptions with_state(double lr) { return {.lr = lr, .weight_decay = 0.1}; }
  static std::string message(const std::string& rest) { return "[Adam] " + rest; }
};

template <class Kind>
class Optimizers : public testing::Test {
 protected:
  using Optimizer = typename Kind::Optimizer;
  using Options = typename Kind::Options;
};
using Kinds = testing::Types<WithMomentum, WithMoments>;
TYPED_TEST_SUITE(Optimizers, Kinds);

TYPED_TEST(Optimizers, AStepIsOneOperation) {
  const Tensor p = leaf({1, 2}), q = leaf({3}), r = leaf({4});
  typename TestFixture::Optimizer optimizer({p, q, r}, TypeParam::with_state(0.1));
  for (const Tensor& leaf : {p, q, r}) sum(leaf).backward();
  const auto before = engine_figures().operations;
  optimizer.step();
  EXPECT_EQ(engine_figures().operations - before, 1);
  optimizer.zero_grad();
  EXPECT_EQ(engine_figures().operations - before, 1);
  EXPECT_FALSE(p.grad().defined());
}

// With a gradient of 1 either goes by lr.
TYPED_TEST(Optimizers, ParametersOfTwoTypesAreTwoOperations) {
  const Tensor single = parameter(ones({2})), both = leaf({1, 1});
  typename TestFixture::Optimizer optimizer({single, both}, {.lr = 0.5});
  sum(single).backward();
  sum(both).backward();
  for (const double expected : {0.5, 0.0}) {
    const auto before = engine_figures().operations;
    optimizer.step();
    EXPECT_EQ(engine_figures().operations - before, 2);
    EXPECT_THAT(single.detach().to(float64).to_vector<double>(), Each(DoubleNear(expected, 10 * TypeParam::tolerance)));
    EXPECT_THAT(both.to_vector<double>(), Each(DoubleNear(expected, TypeParam::tolerance)));
  }
}

TYPED_TEST(Optimizers, AnEmptyParameterIsLeftAlone) {
  const Tensor empty = parameter(zeros({0, 3})), p = parameter(ones({2}));
  typename TestFixture::Optimizer optimizer({empty, p}, {.lr = 0.5});
  (sum(empty) + sum(p)).backward();
  optimizer.step();
  EXPECT_THAT(p.to_vector<float>(), Each(testing::FloatNear(0.5F, 1e-6F)));
}

// A gradient that cannot be computed: parameters, state and counts stay as they were, and training goes on as if there
// had been no such step; also if it was the first one.
TYPED_TEST(Optimizers, AFailedStepLeavesAllAsItWas) {
  const auto train = [](int failing_step) {
    const Tensor p = parameter(full({8, 3}, 2)), q = parameter(full({70'000}, 1));
    typename TestFixture::Optimizer optimizer({p, q}, TypeParam::with_state(0.1));
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      if (step == failing_step) {
        const Tensor outside = Tensor::from(std::vector<std::int64_t>{0, 9}, {2});
        (sum(square(q)) + sum(take(p, outside))).backward();
        optimizer.step();
        EXPECT_THAT(message_of([&] { p.wait(); }), HasSubstr("index 9 at position 1"));
        EXPECT_THAT(message_of([&] { q.wait(); }), HasSubstr("index 9 at position 1"));
        recover();
        optimizer.zero_grad();
      }
      (sum(square(p)) + sum(square(q))).backward();
      optimizer.step();
    }
    std::vector<float> all = p.to_vector<float>();
    const std::vector<float> rest = q.to_vector<float>();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  const std::vector<float> undisturbed = train(-1);
  EXPECT_EQ(train(0), undisturbed);
  EXPECT_EQ(train(2), undisturbed);
}

TYPED_TEST(Optimizers, AStepIsNotRecorded) {
  const Tensor p = leaf({1, 2});
  typename TestFixture::Optimizer optimizer({p}, {.lr = 1});
  sum(p * p).backward();
  optimizer.step();
  EXPECT_TRUE(p.requires_grad());
  optimizer.zero_grad();
  EXPECT_FALSE(p.grad().defined());
  sum(p * p).backward();  // of the new values, as of a leaf
  const double a = 1 - TypeParam::first_move(1, 2), b = 2 - TypeParam::first_move(1, 4);
  const double tolerance = TypeParam::tolerance;
  EXPECT_THAT(p.to_vector<double>(), ElementsAre(DoubleNear(a, tolerance), DoubleNear(b, tolerance)));
  EXPECT_THAT(p.grad().template to_vector<double>(),
              ElementsAre(DoubleNear(2 * a, tolerance), DoubleNear(2 * b, tolerance)));
}

TYPED_TEST(Optimizers, ATapeThatSavedTheOldValuesNotices) {
  const Tensor p = leaf({1, 2});
  typename TestFixture::Optimizer optimizer({p});
  const Tensor loss = sum(p * p);
  sum(p).backward();
  optimizer.step();
  EXPECT_NE(message_of([&] { loss.backward(); }), "nothing was thrown");
}

TYPED_TEST(Optimizers, TheLearningRateMayChange) {
  const Tensor p = leaf({1});
  typename TestFixture::Optimizer optimizer({p}, {.lr = 0.5});
  EXPECT_EQ(optimizer.lr(), 0.5);
  give_gradient(p, {1});
  optimizer.step();
  optimizer.set_lr(0.25);
  EXPECT_EQ(optimizer.lr(), 0.25);
  optimizer.step();
  EXPECT_NEAR(p.item(), 0.25, TypeParam::tolerance);
  EXPECT_EQ(message_of([&] { optimizer.set_lr(-1); }),
            TypeParam::message("lr must be finite and not negative, got -1"));
  EXPECT_EQ(optimizer.lr(), 0.25);
}

TYPED_TEST(Optimizers, WithoutGradientsAStepThrows) {
  typename TestFixture::Optimizer optimizer({leaf({1}), leaf({2})});
  EXPECT_EQ(message_of([&] { optimizer.step(); }), TypeParam::message("none of the 2 parameters has a gradient"));
}

TYPED_TEST(Optimizers, CommonOptionsAreChecked) {
  const auto with = [](const typename TestFixture::Options& options) {
    return message_of([&] { typename TestFixture::Optimizer({leaf({1})}, options); });
  };
  EXPECT_EQ(with({.lr = std::numeric_limits<double>::infinity()}),
            TypeParam::message("lr must be finite and not negative, got inf"));
  EXPECT_THAT(with({.lr = std::nan("")}), HasSubstr(TypeParam::message("lr must be")));
  EXPECT_THAT(with({.weight_decay = -1}), HasSubstr(TypeParam::message("weight_decay must be")));
}

TYPED_TEST(Optimizers, ParametersAreChecked) {
  using Optimizer = typename TestFixture::Optimizer;
  const Tensor p = leaf({1});
  EXPECT_EQ(message_of([] { Optimizer({}); }), TypeParam::message("got no parameters"));
  EXPECT_EQ(message_of([&] {
              Optimizer({p, ones({3})});
            }),
            TypeParam::message("parameter 1 of shape (3) requires no gradient"));
  EXPECT_EQ(message_of([&] {
              Optimizer({p, leaf({2}), p});
            }),
            TypeParam::message("parameters 0 and 2 share their storage"));
  EXPECT_THAT(message_of([&] {
                Optimizer({p, leaf({2}) * 0.5});
              }),
              HasSubstr(TypeParam::message("parameter 1 of shape (1) is the result of an operation")));
  EXPECT_THAT(message_of([&] { Optimizer({p, Tensor()}); }), HasSubstr(TypeParam::message("")));
}

TYPED_TEST(Optimizers, LearnALine) {
  manual_seed(1);
  nn::Dense line(1, 1);
  auto options = TypeParam::with_state(0.1);
  options.weight_decay = 0;
  typename TestFixture::Optimizer optimizer(nn::parameters(line), options);
  const Tensor x = arange(-1, 1, 0.125).reshape({16, 1}), y = x * 3 - 0.5;
  for (int step = 0; step < TypeParam::steps_of_a_line; ++step) {
    optimizer.zero_grad();
    mean(nn::l2_loss(line(x), y)).backward();
    optimizer.step();
  }
  EXPECT_NEAR(line.weight.item(), 3, 1e-3);
  EXPECT_NEAR(line.bias.item(), -0.5, 1e-3);
}

}  // namespace
}  // namespace asyncgrad::optim
