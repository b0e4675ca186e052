// The rules of the tape.
#include "asyncgrad/autograd/tape/operation_node.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(SetGrad, TakesTheValues) {
  Tensor x = parameter(full({2}, 3, {.dtype = float64}));
  sum(square(x)).backward();
  Tensor own = float64_tensor({1, -1}, {2});
  x.set_grad(own);
  own += 5;
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{1, -1}));
  sum(square(x)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{7, 5}));
  EXPECT_EQ(message_of([&] { x.set_grad(ones({3}, {.dtype = float64})); }),
            "[set_grad] shapes differ: x (2), gradient (3); both are to have one shape");
  EXPECT_EQ(message_of([&] { x.set_grad(ones({2})); }),
            "[set_grad] types differ: x float64 (2), gradient float32 (2); gradient.to(ag::float64) converts gradient");
  EXPECT_EQ(message_of([&] { square(x).set_grad(own); }),
            "[set_grad] (2) is no leaf whose gradient is wanted; requires_grad_() makes a tensor without history one");
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{7, 5}));
}

TEST(Backward, AccumulatesUntilZeroGrad) {
  Tensor x = parameter(Tensor::from({1.0f, 2.0f}, {2}));
  EXPECT_FALSE(x.grad().defined());
  sum(x * 3).backward();
  const Tensor first = x.grad();
  sum(square(x)).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{5, 7}));
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{3, 3}));  // accumulation writes nothing in place
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  sum(x).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{1, 1}));
}

TEST(Backward, GradientsOfTwoLeavesShareNoStorage) {
  Tensor x = parameter(ones({2})), y = parameter(ones({2}));
  sum(x + y).backward();
  x.grad() *= 5;
  EXPECT_EQ(gradient_of(x), (std::vector<float>{5, 5}));
  EXPECT_EQ(gradient_of(y), (std::vector<float>{1, 1}));
}

TEST(Backward, RecordsNothing) {
  const Tensor x = parameter(ones({2}));
  sum(x * 3).backward();
  x.grad().requires_grad_();
  sum(x * 3).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Backward, KeepsTheFirstGradientWithoutACopy) {
  const Tensor x = parameter(ones({2, 2}));
  const Tensor loss = sum(x * 3);
  const std::int64_t before = engine_figures().operations;
  loss.backward();
  EXPECT_EQ(engine_figures().operations - before, 3);  // the seed, repeated by sum, times 3
}

// The gradients of all slices are added to one buffer, each by a single operation.
TEST(Backward, AddsTheGradientsOfSlicesToOneBuffer) {
  const auto operations = [](std::int64_t count) {
    const Tensor leaf = parameter(ones({64, 2, 3}));
    const Tensor x = leaf * 1;
    Tensor total = zeros({});
    for (std::int64_t i = 0; i < count; ++i) total = total + sum(x.slice(i, i + 1)) + sum(slice(leaf, 1, 0, 1));
    const std::int64_t before = engine_figures().operations, bytes = memory_figures().serial_live_bytes;
    total.backward();
    EXPECT_EQ(memory_figures().serial_live_bytes - bytes, 64 * 6 * 4);
    return engine_figures().operations - before;
  };
  // Each slice costs the gradient of its sum and an addition. The seed, the zeros of two buffers, the gradient of the
  // product, and its sum with the leaf's gradient are there once. The zeros before row 29 and those behind it are two
  // operations.
  EXPECT_EQ(operations(1), 4 * 1 + 5);
  EXPECT_EQ(operations(30), 4 * 30 + 6);
}

TEST(Backward, NeverAddsASlicesGradientToAValueThatIsSeenElsewhere) {
  const Tensor x = parameter(ones({2}));
  sum(x * 3).backward();
  const Tensor first = x.grad();
  sum(x[0] * 2 + x[1]).backward();
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(gradient_of(x), (std::vector<float>{5, 4}));

  const Tensor y = x * 1, z = parameter(ones({2}));
  const Tensor total = sum(y + z) + sum(y.slice(0, 1));  // y's gradient is z's, too
  total.backward();
  EXPECT_EQ(gradient_of(z), (std::vector<float>{1, 1}));
  EXPECT_EQ(gradient_of(x), (std::vector<float>{7, 5}));

  x.grad().requires_grad_();
  sum(x[0]).backward();
  EXPECT_FALSE(x.grad().requires_grad());
}

// A gradient that were a view of a larger one would keep all of the larger one's storage.
TEST(Backward, KeepsNoMoreThanTheGradient) {
  const Tensor x = parameter(ones({16})), y = parameter(ones({1600})), z = parameter(ones({16}));
  const std::int64_t before = memory_figures().serial_live_bytes;
  sum(concat({x, y, z}) * 2).backward();
  EXPECT_EQ(memory_figures().serial_live_bytes - before, (16 + 1600 + 16) * 4);
}

TEST(Backward, VisitsASharedNodeOnce) {
  const Tensor x = parameter(Tensor::from({2.0f}, {1}));
  Tensor y = x * 1;
  for (int i = 0; i < 40; ++i) y = y + y;  // 2^40 paths
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), std::ldexp(1.0, 40));
}

TEST(Backward, OfALeafIsOne) {
  const Tensor x = parameter(ones({}));
  x.backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Backward, RetainsTheGraphOnRequest) {
  const Tensor x = parameter(Tensor::from({3.0f}, {1}));
  const Tensor loss = sum(square(x));
  loss.backward(true);
  loss.backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{12}));
  EXPECT_TRUE(has_parts(message_of([&] { loss.backward(); }),
                        {"[backward] an earlier backward() has dropped what sum, queued at backward_test.cpp:",
                         "pass retain_graph = true"}));
  EXPECT_EQ(gradient_of(x), (std::vector<float>{12}));
}

TEST(Backward, ReachesAGraphThatAnotherBackwardLetGo) {
  const Tensor x = parameter(ones({1}));
  const Tensor shared = square(x);
  sum(shared).backward();
  EXPECT_TRUE(has_parts(message_of([&] { sum(exp(shared)).backward(); }), {"[backward]", "square, queued at"}));
}

TEST(Backward, RefusesWhatIsNoScalarOrHasNoLeaf) {
  const Tensor x = parameter(ones({2, 2}));
  EXPECT_EQ(message_of([&] { (x * 2).backward(); }),
            "[backward] (2, 2) is not a scalar; take the mean or the sum, or pass its gradient");
  const std::string no_leaf =
      "[backward] the tensor () depends on no leaf whose gradient is wanted, or was computed under NoGrad; parameter() "
      "or "
      "requires_grad_() makes a leaf, and EnableGrad records within NoGrad";
  EXPECT_EQ(message_of([] { sum(ones({2})).backward(); }), no_leaf);
  EXPECT_EQ(message_of([&] { sum(x.detach() * 2).backward(); }), no_leaf);
  EXPECT_EQ(message_of([] { Tensor().backward(); }),
            "[backward] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Backward, ReachesOnlyWhatWantsAGradient) {
  const Tensor w = parameter(ones({2})), x = ones({2});
  const Tensor h = w * x;
  sum(h * h.detach()).backward();
  EXPECT_EQ(gradient_of(w), (std::vector<float>{1, 1}));
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(h.grad().defined());
}

TEST(Leaf, IsAskedForAndTakenBack) {
  Tensor x = ones({2});
  EXPECT_FALSE(x.requires_grad());
  x.requires_grad_().requires_grad_();
  EXPECT_TRUE(x.requires_grad());
  const Tensor y = x * 2;
  x.requires_grad_(false);
  EXPECT_FALSE(x.requires_grad());
  sum(y).backward();  // y's history still has the leaf; the tensor has let it go
  EXPECT_FALSE(x.grad().defined());

  EXPECT_TRUE(has_parts(message_of([&] { Tensor(y).requires_grad_(false); }),
                        {"[requires_grad_] (2) is a result of multiply, queued at backward_test.cpp:", "detach()"}));
  EXPECT_EQ(message_of([] { parameter(zeros({2}, {.dtype = int64})); }),
            "[requires_grad_] int64 (2) has no gradient; x.to(ag::float32) may have one");
  EXPECT_EQ(message_of([] { parameter(Tensor()); }),
            "[requires_grad_] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Detach, SharesStorageWithoutHistory) {
  Tensor x = parameter(ones({2}));
  Tensor y = x.detach();
  EXPECT_FALSE(y.requires_grad());
  y += 1;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Leaf, HasNoGradientAfterRecoverIfItWasNotComputed) {
  const Tensor table = parameter(ones({3, 2})), w = parameter(ones({2})), other = parameter(ones({}));
  const auto loss = [&](std::int64_t row) { return sum(take(table, int64_tensor({row}, {1})) * w) + other; };
  loss(7).backward();
  EXPECT_TRUE(w.grad().defined());
  EXPECT_TRUE(has_parts(message_of([&] { w.grad().wait(); }), {"[take]", "7"}));
  EXPECT_TRUE(w.grad().defined());
  recover();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(other.grad().item(), 1);
  loss(1).backward();
  EXPECT_EQ(gradient_of(w), std::vector<float>(2, 1));
  EXPECT_EQ(gradient_of(table), (std::vector<float>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(other.grad().item(), 2);
}

TEST(Origins, AGradientNamesItsForwardLineAndThatOfBackward) {
  const Tensor x = parameter(ones({}));
  const Tensor y = ones({});
  std::string origin;
  detail::record("probe", Location::current(), y, {x}, [&origin](const Tensor& dy, detail::Gradients& gradients) {
    gradients(0, [&] { return dy; });
    origin = detail::origin_at(Location::current()).str();
  });
  y.backward();
  EXPECT_TRUE(has_parts(origin, {"backward_test.cpp:", ", as a gradient for backward() at backward_test.cpp:"}));
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Origins, AFailedOperationSurfacesInTheGradient) {
  const Tensor x = parameter(zeros({2, 2}));
  const Tensor rows = int64_tensor({0, 9}, {2});
  EXPECT_TRUE(has_parts(message_of([&] {
                          sum(square(take(x, rows))).backward();
                          x.grad().wait();
                        }),
                        {"[take]", "9"}));
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
