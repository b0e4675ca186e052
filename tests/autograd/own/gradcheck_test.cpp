#include "asyncgrad/autograd/gradcheck.h"

#include <gmock/gmock.h>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

using Tensors = std::vector<Tensor>;

// x^2 y, whose gradient in x is `factor` times what it should be.
Tensor product(const Tensors& x, double factor) {
  const Tensor a = x[0], b = x[1];
  return with_gradient("product", (a * a * b).detach(), {a, b}, [=](const GradientCall& call) -> Tensors {
    return {call.dy() * a * b * (2 * factor), call.dy() * a * a};
  });
}

TEST(Gradcheck, AcceptsWhatIsRight) {
  const Tensors inputs{random64({2, 3}, 1, -2, 2), random64({3}, 2, -2, 2)};
  gradcheck([](const Tensors& x) { return sin(x[0]) * exp(x[1]); }, inputs, {.order = 2});
  gradcheck([](const Tensors& x) { return x[0].to(float32) * 2; }, {random64({2}, 1)},
            {.step = 0.01, .tolerance = 1e-3});
}

// The gradients of a linear function depend on nothing, and those of one that is linear in an input not on that.
TEST(Gradcheck, AcceptsLinearFunctionsOfOrderTwo) {
  const Tensors inputs{random64({2, 3}, 1), random64({3}, 2)};
  gradcheck([](const Tensors& x) { return x[0] * 2; }, inputs, {.order = 2});
  gradcheck([](const Tensors& x) { return sum(x[0], 0) + x[1]; }, inputs, {.order = 2});
  gradcheck([](const Tensors& x) { return x[0] * x[1]; }, inputs, {.order = 2});
}

TEST(Gradcheck, NamesTheFirstElementThatIsOff) {
  const Tensors inputs{full({2}, 3, {.dtype = float64}), full({2}, 5, {.dtype = float64})};
  gradcheck([](const Tensors& x) { return product(x, 1); }, inputs);
  EXPECT_THAT(message_of([&] { gradcheck([](const Tensors& x) { return product(x, 1.01); }, inputs); }),
              ::testing::HasSubstr("the gradient of order 1 in element 0 of input 0 (2) is"));
}

TEST(Gradcheck, RefusesWhatItCannotCheck) {
  const auto f = [](const Tensors& x) { return x[0] * 2; };
  EXPECT_THAT(message_of([&] { gradcheck(f, {ones({2})}); }), ::testing::HasSubstr(".to(ag::float64)"));
  EXPECT_THAT(message_of([&] { gradcheck(f, {random64({2}, 1)}, {.order = 3}); }),
              ::testing::HasSubstr("order must be 1 or 2, got 3"));
}

}  // namespace
}  // namespace asyncgrad::tests
