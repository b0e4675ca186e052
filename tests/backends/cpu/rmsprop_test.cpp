#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/backends/cpu/update_harness.h"

namespace asyncgrad::detail {

namespace {

RmspropAttributes attributes_of(double momentum, bool centered, double weight_decay, int count) {
  return {.lr = 0.1,
          .alpha = 0.9,
          .epsilon = 1e-3,
          .weight_decay = weight_decay,
          .momentum = momentum,
          .centered = centered,
          .count = count};
}

template <class T>
void check_step(double momentum, bool centered, double weight_decay) {
  std::vector<std::pair<double, double>> bounds{{-3, 3}, {0, 9}};
  if (centered) bounds.emplace_back(-3, 3);
  if (momentum != 0) bounds.emplace_back(-3, 3);
  UpdateLists<T> lists(bounds), expected = lists;
  const RmspropAttributes a = attributes_of(momentum, centered, weight_decay, lists.parameters());
  lists.run(Op::rmsprop, a);
  const auto lr = static_cast<T>(a.lr), alpha = static_cast<T>(a.alpha), rest = static_cast<T>(1 - a.alpha),
             epsilon = static_cast<T>(a.epsilon), decay = static_cast<T>(weight_decay), mu = static_cast<T>(momentum);
  expected.each([&](const std::vector<T*>& x, T g) {
    T &p = *x[0], &v = *x[1];
    const T slope = g + decay * p;
    v = alpha * v + rest * slope * slope;
    T variance = v;
    if (centered) {
      T& m = *x[2];
      m = alpha * m + rest * slope;
      variance = std::max(v - m * m, T(0));
    }
    T direction = slope / (std::sqrt(variance) + epsilon);
    if (momentum != 0) {
      T& b = *x.back();
      direction = b = mu * b + direction;
    }
    p -= lr * direction;
  });
  lists.expect_same_bits(expected);
}

TEST(Rmsprop, StepsAsItsAuthorsHaveIt) {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool centered : {false, true}) {
      for (const double weight_decay : {0.0, 0.1}) {
        check_step<float>(momentum, centered, weight_decay);
        check_step<double>(momentum, centered, weight_decay);
      }
    }
  }
}

// The root is 0 where the squared mean is larger than the mean of squares, but NaN stays NaN.
TEST(Rmsprop, TheVarianceIsNotNegative) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array p(Shape{2}, std::vector<float>{1, 1}), v(Shape{2}, std::vector<float>{0, nan}),
      m(Shape{2}, std::vector<float>{10, 0}), g(Shape{2}, std::vector<float>{1, 1});
  run_kernel(Op::rmsprop, {updated(p), updated(v), updated(m), read(g)}, attributes_of(0, true, 0, 1));
  EXPECT_FLOAT_EQ(p.values<float>()[0], 1 - 0.1F * 1 / 1e-3F);
  EXPECT_TRUE(std::isnan(p.values<float>()[1]));
}

TEST(Rmsprop, OfNoParametersDoesNothing) { EXPECT_EQ(run_kernel(Op::rmsprop, {}, attributes_of(0.9, true, 0, 0)), 1); }

}  // namespace

}  // namespace asyncgrad::detail
