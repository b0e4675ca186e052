#include <cmath>

#include "tests/backends/cpu/update_harness.h"

namespace asyncgrad::detail {

namespace {

template <class T>
void check_step(double epsilon, double weight_decay) {
  UpdateLists<T> lists({{-3, 3}, {0, 9}}), expected = lists;
  const AdagradAttributes attributes{
      .lr = 0.1, .epsilon = epsilon, .weight_decay = weight_decay, .count = lists.parameters()};
  lists.run(Op::adagrad, attributes);
  const auto lr = static_cast<T>(0.1), e = static_cast<T>(epsilon), decay = static_cast<T>(weight_decay);
  expected.each([&](const std::vector<T*>& x, T g) {
    T &p = *x[0], &s = *x[1];
    const T slope = g + decay * p;
    s += slope * slope;
    p -= lr * slope / (std::sqrt(s) + e);
  });
  lists.expect_same_bits(expected);
}

TEST(Adagrad, StepsAsThePaperHasIt) {
  for (const double epsilon : {1e-10, 0.25}) {
    for (const double weight_decay : {0.0, 0.1}) {
      check_step<float>(epsilon, weight_decay);
      check_step<double>(epsilon, weight_decay);
    }
  }
}

TEST(Adagrad, OfNoParametersDoesNothing) {
  EXPECT_EQ(run_kernel(Op::adagrad, {}, AdagradAttributes{.lr = 0.1, .epsilon = 0, .weight_decay = 0, .count = 0}), 1);
}

}  // namespace

}  // namespace asyncgrad::detail
