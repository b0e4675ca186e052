// What all optimisers have in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

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
  // By the second one, if both gradients are 1.
  static double second_move(double lr) { return lr; }
  static SGDOptions with_state(double lr) { return {.lr = lr, .momentum = 0.9, .weight_decay = 0.1}; }
  static std::string message(const std::string& rest) { return "[SGD] " + rest; }
};
struct WithMoments {
  using Optimizer = Adam;
  using Options = AdamOptions;
  static constexpr double tolerance = 1e-7;
  static constexpr int steps_of_a_line = 400;
  static double first_move(double lr, double gradient) { return std::copysign(lr, gradient); }
  static double second_move(double lr) { return lr; }
  static AdamOptions with_state(double lr) { return {.lr = lr, .weight_decay = 0.1}; }
  static std::string message(const std::string& rest) { return "[Adam] " + rest; }
};
struct WithSums {
  using Optimizer = Adagrad;
  using Options = AdagradOptions;
  static constexpr double tolerance = 1e-7;
  static constexpr int steps_of_a_line = 4000;
  static double first_move(double lr, double gradient) { return std::copysign(lr, gradient); }
  static double second_move(double lr) { return lr / std::sqrt(2); }
  static AdagradOptions with_state(double lr) { return {.lr = lr, .weight_decay = 0.1, .initial_accumulator = 0.1}; }
  static std::string message(const std::string& rest) { return "[Adagrad] " + rest; }
};
// Its mean of squares is a hundredth of the first square, then 0.0199 of them.
struct WithMeanSquares {
  using Optimizer = RMSprop;
  using Options = RMSpropOptions;
  static constexpr double tolerance = 1e-5;
  static constexpr int steps_of_a_line = 2000;
  static double first_move(double lr, double gradient) { return std::copysign(10 * lr, gradient); }
  static double second_move(double lr) { return lr / std::sqrt(0.0199); }
  static RMSpropOptions with_state(double lr) {
    return {.lr = lr / 50, .weight_decay = 0.1, .momentum = 0.5, .centered = true};
  }
  static std::string message(const std::string& rest) { return "[RMSprop] " + rest; }
};

template <class Kind>
class Optimizers : public testing::Test {
 protected:
  using Optimizer = typename Kind::Optimizer;
  using Options = typename Kind::Options;
};
using Kinds = testing::Types<WithMomentum, WithMoments, WithSums, WithMeanSquares>;
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

TYPED_TEST(Optimizers, ParametersOfTwoTypesAreTwoOperations) {
  const Tensor single = parameter(ones({2})), both = leaf({1, 1});
  typename TestFixture::Optimizer optimizer({single, both}, {.lr = 0.5});
  sum(single).backward();
  sum(both).backward();
  const double first = 1 - TypeParam::first_move(0.5, 1), second = first - TypeParam::second_move(0.5);
  for (const double expected : {first, second}) {
    const auto before = engine_figures().operations;
    optimizer.step();
    EXPECT_EQ(engine_figures().operations - before, 2);
    EXPECT_THAT(single.detach().to(float64).template to_vector<double>(),
                Each(DoubleNear(expected, 10 * TypeParam::tolerance)));
    EXPECT_THAT(both.to_vector<double>(), Each(DoubleNear(expected, TypeParam::tolerance)));
  }
}

TYPED_TEST(Optimizers, AnEmptyParameterIsLeftAlone) {
  const Tensor empty = parameter(zeros({0, 3})), p = parameter(ones({2}));
  typename TestFixture::Optimizer optimizer({empty, p}, {.lr = 0.5});
  (sum(empty) + sum(p)).backward();
  optimizer.step();
  EXPECT_THAT(p.to_vector<float>(),
              Each(testing::FloatNear(static_cast<float>(1 - TypeParam::first_move(0.5, 1)), 1e-5F)));
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
  EXPECT_NEAR(p.item(), 1 - TypeParam::first_move(0.5, 1) - TypeParam::second_move(0.25), TypeParam::tolerance);
  EXPECT_EQ(message_of([&] { optimizer.set_lr(-1); }),
            TypeParam::message("lr must be finite and not negative, got -1"));
  EXPECT_EQ(optimizer.lr(), 0.25);
}

TYPED_TEST(Optimizers, WithoutGradientsAStepDoesNothing) {
  const Tensor p = leaf({1}), q = leaf({2});
  typename TestFixture::Optimizer optimizer({p}, TypeParam::with_state(0.1));
  optimizer.add_group({q}, TypeParam::with_state(0.1));
  const auto before = engine_figures().operations;
  optimizer.step();
  EXPECT_EQ(engine_figures().operations, before);
  give_gradient(q, {1});
  optimizer.step();
  EXPECT_EQ(p.item(), 1);
  EXPECT_LT(q.item(), 2);
}

// A group without a gradient keeps its state: it goes on as if the steps without it had not been.
TYPED_TEST(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  const Tensor p = leaf({1, 2}), q = leaf({3}), alone_p = leaf({1, 2}), alone_q = leaf({3});
  typename TestFixture::Optimizer both({p}, TypeParam::with_state(0.1));
  both.add_group({q}, {.lr = 0.3});
  typename TestFixture::Optimizer first({alone_p}, TypeParam::with_state(0.1)), second({alone_q}, {.lr = 0.3});
  for (int step = 0; step < 4; ++step) {
    give_gradient(p, gradient_of_step(step, 2));
    give_gradient(alone_p, gradient_of_step(step, 2));
    if (step % 2 == 1) {
      give_gradient(q, gradient_of_step(step, 1));
      give_gradient(alone_q, gradient_of_step(step, 1));
      second.step();
    }
    both.step();
    first.step();
    for (auto* optimizer : std::initializer_list<Optimizer*>{&both, &first, &second}) optimizer->zero_grad();
  }
  EXPECT_EQ(p.to_vector<double>(), alone_p.to_vector<double>());
  EXPECT_EQ(q.to_vector<double>(), alone_q.to_vector<double>());
}

TYPED_TEST(Optimizers, GroupsAreNumbered) {
  const Tensor p = leaf({1}), q = leaf({2});
  typename TestFixture::Optimizer optimizer({p}, {.lr = 0.5});
  optimizer.add_group({q}, {.lr = 0.25});
  ASSERT_EQ(optimizer.groups(), 2u);
  EXPECT_EQ(optimizer.parameters(1)[0].impl(), q.impl());
  EXPECT_EQ(optimizer.lr(), 0.5);
  EXPECT_EQ(optimizer.lr(1), 0.25);
  optimizer.set_lr(1, 0.75);
  EXPECT_EQ(optimizer.lr(0), 0.5);
  EXPECT_EQ(optimizer.lr(1), 0.75);
  optimizer.set_lr(1);
  EXPECT_EQ(optimizer.lr(0) + optimizer.lr(1), 2);
  EXPECT_EQ(message_of([&] { optimizer.lr(2); }), TypeParam::message("there is no group 2 of 2"));
  EXPECT_EQ(message_of([&] { optimizer.set_lr(2, 1); }), TypeParam::message("there is no group 2 of 2"));
  EXPECT_EQ(message_of([&] {
              optimizer.add_group({leaf({1}), p});
            }),
            TypeParam::message("parameters 0 and 3 share their storage"));
  EXPECT_EQ(message_of([&] { optimizer.add_group({leaf({1})}, {.lr = -1}); }),
            TypeParam::message("lr must be finite and not negative, got -1"));
  EXPECT_EQ(optimizer.groups(), 2u);
}

struct Forgetful {
  nn::Dense listed{2, 3}, forgotten{3, 1};
  Tensor operator()(const Tensor& x) const { return forgotten(listed(x)); }
  void members(nn::Members& m) { m("listed", listed); }
};

TYPED_TEST(Optimizers, NameWhatTheyDoNotTrain) {
  const Forgetful net;
  typename TestFixture::Optimizer optimizer(nn::parameters(net));
  const std::vector<std::string> missing = optimizer.missing(sum(net(ones({4, 2}))));
  EXPECT_THAT(missing, ElementsAre(HasSubstr("used by dense, queued at optimizer_test.cpp"),
                                   HasSubstr("used by dense, queued at optimizer_test.cpp")));
  optimizer.add_group(nn::parameters(net.forgotten));
  EXPECT_THAT(optimizer.missing(sum(net(ones({4, 2})))), ElementsAre());
}

TYPED_TEST(Optimizers, AreChosenAtRunTime) {
  const Tensor p = leaf({1});
  std::unique_ptr<Optimizer> optimizer =
      std::make_unique<typename TestFixture::Optimizer>(std::vector{p}, TypeParam::with_state(0.5));
  give_gradient(p, {1});
  optimizer->step();
  EXPECT_LT(p.item(), 1);
}

// What a file may have put there.
TYPED_TEST(Optimizers, ABadRateAmongTheMembersIsRefusedAtTheStep) {
  class Spoiler : public nn::Members::Visitor {
   public:
    void layer(const std::string&, const std::string&) override {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override {
      EXPECT_EQ(path, "0.lr");
      *std::get<double*>(value) = std::nan("");
    }
  } spoiler;
  const Tensor p = leaf({1});
  typename TestFixture::Optimizer optimizer({p});
  nn::Members::visit(optimizer, spoiler);
  give_gradient(p, {1});
  EXPECT_EQ(message_of([&] { optimizer.step(); }), TypeParam::message("lr must be finite and not negative, got nan"));
  EXPECT_EQ(p.item(), 1);
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
  EXPECT_THAT(message_of([&] { Optimizer({parameter(ones({2}, {.dtype = bfloat16}))}); }),
              HasSubstr(TypeParam::message("parameter 0 of shape (2) is bfloat16; keep it in float32")));
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
