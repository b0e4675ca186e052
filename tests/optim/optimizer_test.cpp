// The common behaviour of all optimisers.
#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "tests/optim/kinds.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class Optimizers : public testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<Optimizer> make(const Tensors& parameters, const Options& options = {}) {
    return GetParam().make(parameters, options);
  }
  static void add_group(Optimizer& optimizer, const Tensors& parameters, const Options& options = {}) {
    GetParam().add_group(optimizer, parameters, options);
  }
  static std::string message(const std::string& rest) { return std::string("[") + GetParam().name + "] " + rest; }
};

// The second parameter has no gradient at the first step, and begins later.
TEST_P(Optimizers, FollowTheirFormulas) {
  for (const Options& options : {Options{}, with_all}) {
    const std::vector<Values> starts{{1, -2, 3}, {0.5}};
    const Tensors parameters{leaf(starts[0]), leaf(starts[1])};
    const std::unique_ptr<Optimizer> optimizer = make(parameters, options);
    std::vector<std::vector<Values>> elements(2);  // with their state
    for (std::size_t i = 0; i < 2; ++i) {
      for (const double start : starts[i]) elements[i].push_back({start, 0, 0, 0});
    }
    std::vector<int> t(2);
    for (int step = 0; step < 6; ++step) {
      optimizer->zero_grad();
      for (std::size_t i = 0; i < 2; ++i) {
        if (i == 1 && step % 3 == 0) continue;
        const Values gradient = gradient_of_step(step, starts[i].size());
        give_gradient(parameters[i], gradient);
        ++t[i];
        for (std::size_t j = 0; j < gradient.size(); ++j)
          GetParam().formula(options, t[i], gradient[j], elements[i][j]);
      }
      optimizer->step();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const Values values = parameters[i].to_vector<double>();
      for (std::size_t j = 0; j < values.size(); ++j) EXPECT_NEAR(values[j], elements[i][j][0], 1e-12);
    }
  }
}

TEST_P(Optimizers, AStepIsOneOperation) {
  const Tensor p = leaf({1, 2}), q = leaf({3}), r = leaf({4});
  const std::unique_ptr<Optimizer> optimizer = make({p, q, r}, with_all);
  for (const Tensor& leaf : {p, q, r}) sum(leaf).backward();
  const auto before = engine_figures().operations;
  optimizer->step();
  EXPECT_EQ(engine_figures().operations - before, 1);
  optimizer->zero_grad();
  EXPECT_EQ(engine_figures().operations - before, 1);
  EXPECT_FALSE(p.grad().defined());
}

TEST_P(Optimizers, ParametersOfTwoTypesAreTwoOperations) {
  const Tensor single = parameter(ones({2})), both = leaf({1, 1});
  const std::unique_ptr<Optimizer> optimizer = make({single, both}, {.lr = 0.5});
  sum(single).backward();
  sum(both).backward();
  const double first = 1 - GetParam().first_move(0.5, 1), second = first - 0.5 * GetParam().second_move;
  for (const double expected : {first, second}) {
    const auto before = engine_figures().operations;
    optimizer->step();
    EXPECT_EQ(engine_figures().operations - before, 2);
    EXPECT_THAT(single.detach().to(float64).to_vector<double>(), Each(DoubleNear(expected, 10 * GetParam().tolerance)));
    EXPECT_THAT(both.to_vector<double>(), Each(DoubleNear(expected, GetParam().tolerance)));
  }
}

TEST_P(Optimizers, AnEmptyParameterIsLeftAlone) {
  const Tensor empty = parameter(zeros({0, 3})), p = parameter(ones({2}));
  const std::unique_ptr<Optimizer> optimizer = make({empty, p}, {.lr = 0.5});
  (sum(empty) + sum(p)).backward();
  optimizer->step();
  EXPECT_THAT(p.to_vector<float>(),
              Each(testing::FloatNear(static_cast<float>(1 - GetParam().first_move(0.5, 1)), 1e-5F)));
}

// If a gradient cannot be computed, parameters, state and counts stay as they were, and training goes on as if there
// had been no such step, even if it was the first one.
TEST_P(Optimizers, AFailedStepLeavesAllAsItWas) {
  const auto train = [](int failing_step) {
    const Tensor p = parameter(full({8, 3}, 2)), q = parameter(full({70'000}, 1));
    const std::unique_ptr<Optimizer> optimizer = make({p, q}, with_all);
    for (int step = 0; step < 4; ++step) {
      optimizer->zero_grad();
      if (step == failing_step) {
        const Tensor outside = Tensor::from(std::vector<std::int64_t>{0, 9}, {2});
        (sum(square(q)) + sum(take(p, outside))).backward();
        optimizer->step();
        EXPECT_THAT(message_of([&] { p.wait(); }), HasSubstr("index 9 at position 1"));
        EXPECT_THAT(message_of([&] { q.wait(); }), HasSubstr("index 9 at position 1"));
        recover();
        optimizer->zero_grad();
      }
      (sum(square(p)) + sum(square(q))).backward();
      optimizer->step();
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

TEST_P(Optimizers, AStepIsNotRecorded) {
  const Tensor p = leaf({1, 2});
  const std::unique_ptr<Optimizer> optimizer = make({p}, {.lr = 1});
  sum(p * p).backward();
  optimizer->step();
  EXPECT_TRUE(p.requires_grad());
  optimizer->zero_grad();
  EXPECT_FALSE(p.grad().defined());
  sum(p * p).backward();  // p is a leaf with new values
  const double a = 1 - GetParam().first_move(1, 2), b = 2 - GetParam().first_move(1, 4);
  const double tolerance = GetParam().tolerance;
  EXPECT_THAT(p.to_vector<double>(), ElementsAre(DoubleNear(a, tolerance), DoubleNear(b, tolerance)));
  EXPECT_THAT(p.grad().to_vector<double>(), ElementsAre(DoubleNear(2 * a, tolerance), DoubleNear(2 * b, tolerance)));
}

TEST_P(Optimizers, ATapeThatSavedTheOldValuesNotices) {
  const Tensor p = leaf({1, 2});
  const std::unique_ptr<Optimizer> optimizer = make({p});
  const Tensor loss = sum(p * p);
  sum(p).backward();
  optimizer->step();
  EXPECT_THAT(message_of([&] { loss.backward(); }), HasSubstr("was written in place afterwards: float64 (2) is at"));
}

TEST_P(Optimizers, TheLearningRateMayChange) {
  const Tensor p = leaf({1});
  const std::unique_ptr<Optimizer> optimizer = make({p}, {.lr = 0.5});
  EXPECT_EQ(optimizer->lr(), 0.5);
  give_gradient(p, {1});
  optimizer->step();
  optimizer->set_lr(0.25);
  EXPECT_EQ(optimizer->lr(), 0.25);
  optimizer->step();
  EXPECT_NEAR(p.item(), 1 - GetParam().first_move(0.5, 1) - 0.25 * GetParam().second_move, GetParam().tolerance);
  EXPECT_EQ(message_of([&] { optimizer->set_lr(-1); }), message("lr must be finite and not negative, got -1"));
  EXPECT_EQ(optimizer->lr(), 0.25);
}

TEST_P(Optimizers, WithoutGradientsAStepDoesNothing) {
  const Tensor p = leaf({1}), q = leaf({2});
  const std::unique_ptr<Optimizer> optimizer = make({p}, with_all);
  add_group(*optimizer, {q}, with_all);
  const auto before = engine_figures().operations;
  optimizer->step();
  EXPECT_EQ(engine_figures().operations, before);
  give_gradient(q, {1});
  optimizer->step();
  EXPECT_EQ(p.item(), 1);
  EXPECT_LT(q.item(), 2);
}

// A group without a gradient keeps its state, and goes on as if the steps without a gradient had not been.
TEST_P(Optimizers, GroupsHaveOptionsOfTheirOwn) {
  const Tensor p = leaf({1, 2}), q = leaf({3}), alone_p = leaf({1, 2}), alone_q = leaf({3});
  const std::unique_ptr<Optimizer> both = make({p}, with_all), first = make({alone_p}, with_all),
                                   second = make({alone_q}, {.lr = 0.3});
  add_group(*both, {q}, {.lr = 0.3});
  for (int step = 0; step < 4; ++step) {
    give_gradient(p, gradient_of_step(step, 2));
    give_gradient(alone_p, gradient_of_step(step, 2));
    if (step % 2 == 1) {
      give_gradient(q, gradient_of_step(step, 1));
      give_gradient(alone_q, gradient_of_step(step, 1));
      second->step();
    }
    both->step();
    first->step();
    for (Optimizer* optimizer : {both.get(), first.get(), second.get()}) optimizer->zero_grad();
  }
  EXPECT_EQ(p.to_vector<double>(), alone_p.to_vector<double>());
  EXPECT_EQ(q.to_vector<double>(), alone_q.to_vector<double>());
}

TEST_P(Optimizers, GroupsAreNumbered) {
  const Tensor p = leaf({1}), q = leaf({2});
  const std::unique_ptr<Optimizer> optimizer = make({p}, {.lr = 0.5});
  add_group(*optimizer, {q}, {.lr = 0.25});
  ASSERT_EQ(optimizer->groups(), 2u);
  EXPECT_EQ(optimizer->parameters(1)[0].impl(), q.impl());
  EXPECT_EQ(optimizer->lr(), 0.5);
  EXPECT_EQ(optimizer->lr(1), 0.25);
  optimizer->set_lr(1, 0.75);
  EXPECT_EQ(optimizer->lr(0), 0.5);
  EXPECT_EQ(optimizer->lr(1), 0.75);
  optimizer->set_lr(1);
  EXPECT_EQ(optimizer->lr(0) + optimizer->lr(1), 2);
  EXPECT_EQ(message_of([&] { optimizer->lr(2); }), message("there is no group 2 of 2, numbered from 0"));
  EXPECT_EQ(message_of([&] { optimizer->set_lr(2, 1); }), message("there is no group 2 of 2, numbered from 0"));
  EXPECT_EQ(message_of([&] {
              add_group(*optimizer, {leaf({1}), p});
            }),
            message("parameters 0 and 3 of shape (1) share their storage; list one of them"));
  EXPECT_EQ(message_of([&] { add_group(*optimizer, {leaf({1})}, {.lr = -1}); }),
            message("lr must be finite and not negative, got -1"));
  EXPECT_EQ(optimizer->groups(), 2u);
}

struct Forgetful {
  nn::Dense listed{2, 3}, forgotten{3, 1};
  Tensor operator()(const Tensor& x) const { return forgotten(listed(x)); }
  void members(nn::Members& m) { m("listed", listed); }
};

TEST_P(Optimizers, NameWhatTheyDoNotTrain) {
  const Forgetful net;
  const std::unique_ptr<Optimizer> optimizer = make(nn::parameters(net));
  const std::vector<std::string> missing = optimizer->missing(sum(net(ones({4, 2}))));
  EXPECT_THAT(missing, ElementsAre(HasSubstr("used by dense, queued at optimizer_test.cpp"),
                                   HasSubstr("used by dense, queued at optimizer_test.cpp")));
  add_group(*optimizer, nn::parameters(net.forgotten));
  EXPECT_THAT(optimizer->missing(sum(net(ones({4, 2})))), ElementsAre());
}

// A checkpoint sets the members, and its file may hold anything.
TEST_P(Optimizers, ABadRateAmongTheMembersIsRefusedAtTheStep) {
  class Spoiler : public nn::Members::Visitor {
   public:
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override {
      EXPECT_EQ(path, "0.lr");
      *std::get<double*>(value) = std::nan("");
    }
  } spoiler;
  const Tensor p = leaf({1});
  const std::unique_ptr<Optimizer> optimizer = make({p});
  nn::Members::visit(*optimizer, spoiler);
  give_gradient(p, {1});
  EXPECT_EQ(message_of([&] { optimizer->step(); }), message("lr must be finite and not negative, got nan"));
  EXPECT_EQ(p.item(), 1);
}

TEST_P(Optimizers, CommonOptionsAreChecked) {
  const auto with = [](const Options& options) { return message_of([&] { make({leaf({1})}, options); }); };
  EXPECT_EQ(with({.lr = std::numeric_limits<double>::infinity()}),
            message("lr must be finite and not negative, got inf"));
  EXPECT_THAT(with({.lr = std::nan("")}), HasSubstr(message("lr must be")));
  EXPECT_THAT(with({.weight_decay = -1}), HasSubstr(message("weight_decay must be")));
}

TEST_P(Optimizers, ParametersAreChecked) {
  const Tensor p = leaf({1});
  EXPECT_EQ(message_of([] { make({}); }),
            message("the list of parameters is empty: no layer of the network lists a tensor that requires a gradient, "
                    "as parameter() makes it; a network without any has nothing to train"));
  EXPECT_EQ(message_of([&] {
              make({p, ones({3})});
            }),
            message("parameter 1 of shape (3) requires no gradient; parameter() or requires_grad_() makes it one that "
                    "does"));
  EXPECT_EQ(message_of([&] {
              make({p, leaf({2}), p});
            }),
            message("parameters 0 and 2 of shape (1) share their storage; list one of them"));
  EXPECT_THAT(message_of([&] { make({parameter(ones({2}, {.dtype = bfloat16}))}); }),
              HasSubstr(message("parameter 0 of shape (2) is bfloat16; keep it in float32")));
  EXPECT_THAT(message_of([&] {
                make({p, leaf({2}) * 0.5});
              }),
              HasSubstr(message("parameter 1 of shape (1) is the result of an operation")));
  EXPECT_THAT(message_of([&] { make({p, Tensor()}); }), HasSubstr(message("")));
}

TEST_P(Optimizers, LearnALine) {
  manual_seed(1);
  nn::Dense line(1, 1);
  const std::unique_ptr<Optimizer> optimizer = make(nn::parameters(line), {.lr = 0.1, .all_state = true});
  const Tensor x = arange(-1, 1, 0.125).reshape({16, 1}), y = x * 3 - 0.5;
  for (int step = 0; step < GetParam().steps_of_a_line; ++step) {
    optimizer->zero_grad();
    mean(nn::l2_loss(line(x), y)).backward();
    optimizer->step();
  }
  EXPECT_NEAR(line.weight.item(), 3, 1e-3);
  EXPECT_NEAR(line.bias.item(), -0.5, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(kinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace asyncgrad::optim
