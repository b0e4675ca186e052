#include "asyncgrad/optim/average.h"

#include <gmock/gmock.h>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using tests::message_of;

void set(Tensor& parameter, double value) {
  Tensor values = parameter.detach();
  values.fill_(value);
}

TEST(WeightAverage, IsTheMeanOfAllOrMovesExponentially) {
  Tensor p = parameter(full({2}, 1, {.dtype = float64}));
  WeightAverage mean({p}), moving({p}, {.decay = 0.75});
  for (const double value : {3.0, 5.0, 10.0}) {
    set(p, value);
    mean.update();
    moving.update();
  }
  EXPECT_EQ(mean.averages()[0].to_vector<double>(), Values(2, 6));
  EXPECT_EQ(moving.averages()[0].to_vector<double>(),
            Values(2, ((1 * 0.75 + 3 * 0.25) * 0.75 + 5 * 0.25) * 0.75 + 2.5));
  EXPECT_EQ(mean.updates(), 3);
  EXPECT_FALSE(mean.averages()[0].requires_grad());
}

TEST(WeightAverage, SwapsAndSwapsBack) {
  Tensor p = parameter(full({2}, 1, {.dtype = float64}));
  WeightAverage average({p}, {.decay = 0.5});
  set(p, 3);
  average.update();
  average.swap();
  EXPECT_EQ(p.to_vector<double>(), Values(2, 2));
  EXPECT_TRUE(p.is_leaf());
  EXPECT_THAT(message_of([&] { average.update(); }),
              testing::HasSubstr("[WeightAverage] the parameters are the averages since swap()"));
  // A file would have them exchanged.
  Checkpoint checkpoint;
  EXPECT_THAT(message_of([&] { checkpoint.add("average", average); }),
              testing::HasSubstr("another swap() puts them back for a Checkpoint"));
  average.swap();
  EXPECT_EQ(p.to_vector<double>(), Values(2, 3));
  EXPECT_EQ(average.averages()[0].to_vector<double>(), Values(2, 2));
}

TEST(WeightAverage, RefusesWhatMakesNoSense) {
  EXPECT_EQ(message_of([] { WeightAverage({}); }), "[WeightAverage] needs at least one parameter, got none");
  EXPECT_THAT(message_of([] { WeightAverage({ones({1})}, {.decay = 1}); }), testing::HasSubstr("decay"));
  EXPECT_EQ(message_of([] {
              WeightAverage({ones({2}), ones({3}, {.dtype = bfloat16})});
            }),
            "[WeightAverage] averages float32 and float64, got bfloat16 (3)");
  const Tensor w = ones({2});
  EXPECT_EQ(message_of([&] {
              WeightAverage({w, ones({3}), w});
            }),
            "[WeightAverage] parameters 0 and 2 of shape (2) share their storage; list one of them");
}

TEST(WeightAverage, BeginsWithTheFirstValuesExactly) {
  Tensor p = ones({1});
  WeightAverage average({p});
  p.copy_(full({1}, 1e-9));
  average.update();
  EXPECT_EQ(average.averages()[0].item(), 1e-9F);
}

// Half an exchange would lose the weights.
TEST(WeightAverage, SwapsAllOrNothing) {
  Tensor p = parameter(full({2}, 1)), q = parameter(full({2}, 2));
  WeightAverage average({p, q}, {.decay = 0.5});
  Tensor values = q.detach();
  custom_many("fails", {}, {values}, [](const CustomCall&) { throw std::runtime_error("no luck"); },
              {.cost = 1 << 30, .in_place = {0}});
  EXPECT_THAT(message_of([&] { average.swap(); }), testing::HasSubstr("no luck"));
  average.update();  // it is not swapped
  recover();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{1, 1}));
  set(q, 2);
  average.swap();
  average.swap();
  EXPECT_EQ(p.to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace asyncgrad::optim
