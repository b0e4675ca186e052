#include "asyncgrad/optim/schedule.h"

#include <cmath>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

Values first_of(const Factor& factor, int count) {
  Values values;
  for (int step = 0; step < count; ++step) values.push_back(factor(step));
  return values;
}
auto are(const Values& values) { return Pointwise(DoubleNear(1e-15), values); }

TEST(Schedule, FactorsByHand) {
  EXPECT_THAT(first_of(steps(2, 0.5), 6), are({1, 1, 0.5, 0.5, 0.25, 0.25}));
  EXPECT_THAT(first_of(cosine(2), 4), are({1, 0.5, 0, 0}));
  EXPECT_THAT(first_of(cosine(2, 0.5), 4), are({1, 0.75, 0.5, 0.5}));
  EXPECT_THAT(first_of(warm_up(4), 6), are({0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_THAT(first_of(warm_up(2, cosine(2)), 6), are({0.5, 1, 1, 0.5, 0, 0}));
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const Factor cycle = one_cycle(9, {.rise = 1.0 / 3, .first_factor = 0.2, .last_factor = 0.1});
  EXPECT_THAT(first_of(cycle, 3), are({0.2, 0.6, 1}));
  EXPECT_NEAR(cycle(5), 0.55, 1e-15);
  EXPECT_EQ(cycle(8), 0.1);
  EXPECT_EQ(cycle(100), 0.1);
  EXPECT_EQ(message_of([] { one_cycle(1); }), "[one_cycle] length must be at least 2, got 1");
  EXPECT_EQ(message_of([] { one_cycle(5, {.rise = 0}); }), "[one_cycle] rise must be in (0, 1), got 0");
}

TEST(Plateau, LowersTheRatesWhereNothingGetsBetter) {
  SGD sgd({leaf({1})}, {.lr = 1});
  sgd.add_group({leaf({2})}, {.lr = 0.02});
  Plateau plateau(sgd, {.factor = 0.5, .patience = 1, .threshold = 0.1, .min_lr = 0.015});
  EXPECT_FALSE(plateau.step(10));
  EXPECT_FALSE(plateau.step(9.5));  // no better by a tenth
  EXPECT_TRUE(plateau.step(std::nan("")));
  EXPECT_EQ(sgd.lr(0), 0.5);
  EXPECT_EQ(sgd.lr(1), 0.015);
  EXPECT_FALSE(plateau.step(8));
  EXPECT_FALSE(plateau.step(8));
  EXPECT_TRUE(plateau.step(8));
  EXPECT_EQ(sgd.lr(0), 0.25);
  Plateau accuracy(sgd, {.patience = 0, .larger_is_better = true});
  EXPECT_FALSE(accuracy.step(0.5));
  EXPECT_FALSE(accuracy.step(0.6));
  EXPECT_TRUE(accuracy.step(0.6));
  EXPECT_EQ(message_of([&] { Plateau(sgd, {.patience = -1}); }), "[Plateau] patience must not be negative, got -1");
}

TEST(Schedule, MultipliesTheFirstRateOfEachGroup) {
  SGD sgd({leaf({1})}, {.lr = 0.5});
  sgd.add_group({leaf({2})}, {.lr = 4});
  Schedule schedule(sgd, [](std::int64_t step) { return 1.0 / static_cast<double>(step + 1); });
  EXPECT_EQ(sgd.lr(0), 0.5);
  schedule.step();
  EXPECT_EQ(schedule.count(), 1);
  EXPECT_EQ(sgd.lr(0), 0.25);
  EXPECT_EQ(sgd.lr(1), 2);
  sgd.set_lr(7);
  EXPECT_EQ(sgd.lr(1), 7);
  sgd.add_group({leaf({3})}, {.lr = 3});
  schedule.step();
  EXPECT_EQ(sgd.lr(0), 0.5 / 3);
  EXPECT_EQ(sgd.lr(1), 4.0 / 3);
  EXPECT_EQ(sgd.lr(2), 1);
}

TEST(Schedule, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(message_of([] { steps(0, 0.5); }), "[steps] every must be at least 1, got 0");
  EXPECT_EQ(message_of([] { steps(1, -1); }), "[steps] factor must be finite and not negative, got -1");
  EXPECT_EQ(message_of([] { cosine(-3); }), "[cosine] length must be at least 1, got -3");
  EXPECT_THAT(message_of([] { cosine(3, std::nan("")); }), HasSubstr("min_factor must be finite"));
  EXPECT_EQ(message_of([] { warm_up(0); }), "[warm_up] length must be at least 1, got 0");
  EXPECT_THAT(message_of([] { warm_up(1, nullptr); }), HasSubstr("is empty"));
  SGD sgd({leaf({1})}, {.lr = 0.5});
  EXPECT_EQ(message_of([&] { Schedule(sgd, nullptr); }), "[Schedule] the function is empty");
  Schedule schedule(sgd, [](std::int64_t step) { return 1.0 - static_cast<double>(step) * 0.75; });
  schedule.step();
  EXPECT_EQ(message_of([&] { schedule.step(); }), "[Schedule] the factor must be finite and not negative, got -0.5");
  EXPECT_EQ(schedule.count(), 1);
  EXPECT_EQ(sgd.lr(), 0.125);
  sgd.add_group({leaf({1})}, {.lr = 1e300});
  Schedule rising(sgd, [](std::int64_t step) { return std::pow(1e10, static_cast<double>(step)); });
  EXPECT_THAT(message_of([&] { rising.step(); }), HasSubstr("[Schedule] the learning rate must be finite"));
  EXPECT_EQ(sgd.lr(0), 0.125);  // as it was
}

}  // namespace
}  // namespace asyncgrad::optim
