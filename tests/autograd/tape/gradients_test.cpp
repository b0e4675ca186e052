// Gradients as values, of several tensors, of results of operations, and of gradients.
#include "asyncgrad/autograd/gradients.h"

#include "asyncgrad/autograd/tape/operation_node.h"
#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using Floats = std::vector<float>;

Floats floats(const Tensor& x) { return x.to_vector<float>(); }

// --- backward

TEST(BackwardFrom, TakesTheTensorsOwnGradient) {
  const Tensor x = parameter(Tensor::from({1.0f, 2.0f, 3.0f}, {3}));
  square(x).backward(Tensor::from({1.0f, 0.0f, -2.0f}, {3}));
  EXPECT_EQ(floats(x.grad()), (Floats{2, 0, -12}));
  const Tensor y = square(x);
  y.backward(ones({3}), true);
  y.backward(ones({3}));
  EXPECT_EQ(floats(x.grad()), (Floats{6, 8, 0}));
}

TEST(BackwardFrom, LeavesItsArgumentAsItIs) {
  const Tensor x = parameter(ones({2})), dy = parameter(ones({2}));
  x.clone().backward(dy);
  x.grad() *= 5;
  EXPECT_EQ(floats(dy), (Floats{1, 1}));
  EXPECT_FALSE(x.grad().requires_grad());
  x.backward(dy);  // a leaf is its own only leaf
  EXPECT_EQ(floats(x.grad()), (Floats{6, 6}));
}

TEST(BackwardFrom, RefusesWhatDoesNotFit) {
  const Tensor x = parameter(ones({2, 3}));
  const Tensor y = x * 2;
  EXPECT_EQ(message_of([&] { y.backward(ones({3})); }),
            "[backward] the gradient has the shape (3), the value (2, 3); both are to have one shape");
  EXPECT_TRUE(has_parts(message_of([&] {
                          y.backward(ones({2, 3}, {.dtype = float64}));
                        }),
                        {"[backward] types differ: y float32 (2, 3), dy float64 (2, 3)"}));
  EXPECT_TRUE(has_parts(message_of([&] { y.backward(Tensor()); }), {"[backward] (2, 3) is not a scalar"}));
  EXPECT_TRUE(has_parts(message_of([&] { ones({2}).backward(ones({2})); }), {"[backward]", "depends on no leaf"}));
  EXPECT_TRUE(has_parts(message_of([&] { backward({y, y}, {y}); }), {"a gradient for each of 2 tensors, got 1"}));
  EXPECT_TRUE(has_parts(message_of([&] { backward(std::vector<Tensor>{}); }),
                        {"[backward] needs at least one tensor, got none"}));
  EXPECT_TRUE(has_parts(message_of([&] { backward({y, Tensor()}); }), {"[backward] (2, 3) is not a scalar"}));
  EXPECT_FALSE(x.grad().defined());
  y.backward(ones({2, 3}));  // nothing was dropped
}

TEST(BackwardOfSeveral, AddsAllUpInOneWalk) {
  const Tensor x = parameter(Tensor::from({1.0f, 2.0f}, {2}));
  const Tensor shared = square(x);
  backward({sum(shared), shared * 3, shared}, {Tensor(), Tensor::from({1.0f, 0.0f}, {2}), ones({2})});
  EXPECT_EQ(floats(x.grad()), (Floats{10, 8}));
  EXPECT_TRUE(has_parts(message_of([&] { sum(shared).backward(); }), {"[backward]", "square, queued at"}));
}

TEST(BackwardOfSeveral, RetainsTheGraphOnRequest) {
  const Tensor x = parameter(ones({2}));
  const Tensor a = sum(square(x)), b = sum(exp(x));
  backward({a, b}, {}, {.retain_graph = true});
  backward({a, b});
  EXPECT_TRUE(has_parts(message_of([&] { a.backward(); }), {"[backward] an earlier backward() has dropped"}));
}

// --- retain_grad

TEST(RetainGrad, KeepsTheGradientOfAResult) {
  const Tensor x = parameter(Tensor::from({1.0f, 2.0f}, {2}));
  const Tensor h = x * 3;
  const Tensor early = square(h);  // recorded before
  h.retain_grad();
  EXPECT_FALSE(h.grad().defined());
  const Tensor y = sum(early + h);
  y.retain_grad();
  y.backward(true);
  EXPECT_EQ(floats(h.grad()), (Floats{7, 13}));
  EXPECT_EQ(floats(x.grad()), (Floats{21, 39}));
  EXPECT_EQ(y.grad().item(), 1);
  y.backward();
  EXPECT_EQ(floats(h.grad()), (Floats{14, 26}));
  Tensor(h).zero_grad();
  EXPECT_FALSE(h.grad().defined());
}

TEST(RetainGrad, SharesNothingWithTheLeafsGradient) {
  const Tensor x = parameter(ones({2}));
  const Tensor h = x.clone();
  h.retain_grad();
  sum(h[0] + h[1]).backward();
  x.grad() *= 4;
  EXPECT_EQ(floats(h.grad()), (Floats{1, 1}));
  EXPECT_EQ(floats(x.grad()), (Floats{4, 4}));
}

TEST(RetainGrad, KeepsATensorOfItsOwnForEachResult) {
  const Tensor x = parameter(ones({2}));
  const Tensor h = x * 2, y = h + 0;
  h.retain_grad();
  y.retain_grad();
  sum(y * y).backward();
  h.grad() *= 4;
  EXPECT_EQ(floats(y.grad()), (Floats{4, 4}));
  EXPECT_EQ(floats(h.grad()), (Floats{16, 16}));
}

TEST(RetainGrad, IsForTensorsWithAHistory) {
  const Tensor x = parameter(ones({2}));
  x.retain_grad();  // a leaf keeps its gradient anyway
  sum(x).backward();
  EXPECT_EQ(floats(x.grad()), (Floats{1, 1}));
  EXPECT_TRUE(has_parts(message_of([] { ones({2}).retain_grad(); }), {"[retain_grad] (2) depends on no leaf"}));
  EXPECT_EQ(message_of([] { Tensor().retain_grad(); }),
            "[retain_grad] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

// --- grad

TEST(Grad, GivesGradientsAndLeavesTheLeavesAlone) {
  const Tensor x = parameter(Tensor::from({1.0f, 2.0f}, {2})), w = parameter(ones({2}));
  const Tensor h = x * w;
  h.retain_grad();
  const std::vector<Tensor> g = grad(sum(square(h)), {x, h, x});
  EXPECT_EQ(floats(g[0]), (Floats{2, 4}));
  EXPECT_EQ(floats(g[1]), (Floats{2, 4}));
  EXPECT_EQ(floats(g[2]), (Floats{2, 4}));
  for (const Tensor& tensor : {x, w, h}) EXPECT_FALSE(tensor.grad().defined());
  EXPECT_FALSE(g[0].requires_grad());
}

TEST(Grad, OfSeveralFromTheirGradients) {
  const Tensor x = parameter(Tensor::from({1.0f, 2.0f}, {2}));
  const Tensor a = square(x), b = x * 3;
  EXPECT_EQ(floats(grad({a, b}, {x}, {Tensor::from({1.0f, 0.0f}, {2}), ones({2})})[0]), (Floats{5, 3}));
  EXPECT_EQ(floats(grad(x, x, ones({2}))[0]), (Floats{1, 1}));
}

TEST(Grad, ResultsShareNoStorage) {
  const Tensor x = parameter(ones({2})), y = parameter(ones({2})), dz = ones({2});
  std::vector<Tensor> g = grad(x + y, {x, y}, dz);
  g[0] *= 7;
  EXPECT_EQ(floats(g[1]), (Floats{1, 1}));
  EXPECT_EQ(floats(dz), (Floats{1, 1}));
}

TEST(Grad, AddsSlicesToOneBuffer) {
  const Tensor x = parameter(ones({4, 2})), h = x * 1;
  Tensor total = zeros({2});
  for (int i = 0; i < 4; ++i) total = total + x[i] * i + h[i];
  const std::vector<Tensor> g = grad(sum(total), {x, h});
  EXPECT_EQ(floats(g[0]), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(floats(g[1]), Floats(8, 1));
}

TEST(Grad, ComputesNothingThatLeadsToNoInput) {
  const Tensor x = parameter(ones({4, 8})), w = parameter(ones({8, 8}));
  const Tensor h = matmul(x, w), loss = sum(h * h);
  const auto operations = [&](TensorList inputs) {
    const std::int64_t before = engine_figures().operations;
    grad(loss, inputs, {}, {.retain_graph = true});
    return engine_figures().operations - before;
  };
  const std::int64_t to_h = operations(h);
  EXPECT_EQ(operations(x), to_h + 1);
  EXPECT_EQ(operations({x, w}), to_h + 2);
}

TEST(Grad, WantsInputsOnWhichItDepends) {
  const Tensor x = parameter(ones({2})), other = parameter(ones({3}));
  const Tensor loss = sum(square(x));
  EXPECT_EQ(message_of([&] {
              grad(loss, {x, other});
            }),
            "[grad] no y depends on input 1 (3); allow_unused gives Tensor{} for it");
  const std::vector<Tensor> g = grad(loss, {other, x}, {}, {.allow_unused = true});
  EXPECT_FALSE(g[0].defined());
  EXPECT_EQ(floats(g[1]), (Floats{2, 2}));
  EXPECT_EQ(message_of([&] { grad(sum(square(x)), {ones({3})}); }),
            "[grad] input 0 (3) requires no gradient; requires_grad_() makes it a leaf that does");
  EXPECT_EQ(message_of([&] { grad(sum(square(x)), {Tensor()}); }),
            "[grad] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { grad(sum(square(x)), std::vector<Tensor>{}); }),
            "[grad] needs at least one input, got none");
  EXPECT_TRUE(has_parts(message_of([&] { grad(square(x), {x}); }), {"[grad] (2) is not a scalar"}));
  EXPECT_EQ(message_of([&] { grad(square(x), {x}, ones({3})); }),
            "[grad] the gradient has the shape (3), the value (2); both are to have one shape");
}

TEST(Grad, DropsTheTapeUnlessItIsRetained) {
  const Tensor x = parameter(ones({2}));
  const Tensor h = square(x), loss = sum(exp(h));
  grad(loss, {x}, {}, {.retain_graph = true});
  grad(loss, {x});
  EXPECT_TRUE(has_parts(message_of([&] { grad(loss, {x}); }), {"[backward] an earlier backward() has dropped"}));
  // The tape behind h is dropped, and is not needed for h's own gradient.
  const Tensor again = sum(h * 2);
  EXPECT_EQ(floats(grad(again, {h}, {}, {.retain_graph = true})[0]), (Floats{2, 2}));
  for (const std::vector<Tensor>& inputs : {std::vector{x}, {h, x}}) {
    EXPECT_TRUE(has_parts(message_of([&] { grad(again, inputs, {}, {.allow_unused = true}); }),
                          {"[backward] an earlier backward() has dropped"}));
  }
}

// --- gradients of gradients

TEST(CreateGraph, GivesDerivativesOfAnyOrder) {
  const Tensor x = parameter(Tensor::from({2.0}, {1}));
  Tensor y = square(square(x)) * x;  // x^5
  const double expected[] = {80, 160, 240, 240, 120};
  for (const double derivative : expected) {
    y = grad(y, {x}, {}, {.create_graph = true})[0];
    EXPECT_EQ(y.item(), derivative);
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST(CreateGraph, WorksUnderNoGrad) {
  const Tensor x = parameter(ones({2}));
  const Tensor y = sum(square(x));
  const NoGrad no_grad;
  EXPECT_TRUE(grad(y, {x}, {}, {.create_graph = true})[0].requires_grad());
  EXPECT_FALSE(grad_enabled());
}

TEST(CreateGraph, GivesAHessianTimesAVector) {
  // f = sum(w sin(x)) + (sum x)^2: the Hessian is -diag(w sin x) + 2.
  const Tensor x = parameter(Tensor::from({0.3, -1.0, 2.0}, {3})), w = Tensor::from({1.0, 2.0, 3.0}, {3});
  const Tensor v = Tensor::from({1.0, -1.0, 0.5}, {3});
  const Tensor f = sum(w * sin(x)) + square(sum(x));
  const Tensor gradient = grad(f, {x}, {}, {.create_graph = true})[0];
  const Tensor product = grad(gradient, {x}, v)[0];
  expect_near(product, {-std::sin(0.3) * 1 + 1, -2 * std::sin(-1.0) * -1 + 1, -3 * std::sin(2.0) * 0.5 + 1});
}

TEST(CreateGraph, PassesThroughTheGradientOfWhatWasGiven) {
  const Tensor x = parameter(Tensor::from({3.0}, {1})), dy = parameter(Tensor::from({5.0}, {1}));
  const Tensor dx = grad(square(x), {x}, dy, {.create_graph = true})[0];  // 2 x dy
  const std::vector<Tensor> g = grad(dx, {x, dy});
  EXPECT_EQ(g[0].item(), 10);
  EXPECT_EQ(g[1].item(), 6);
}

TEST(CreateGraph, ThirdDerivativesOfOperationsAgreeWithDifferences) {
  using Tensors = std::vector<Tensor>;
  const Tensors inputs = {random64({3, 4}, 1), random64({4, 2}, 2), random64({2}, 3)};
  check_derivatives(
      2, [](const Tensors& t) { return log_softmax(dense(t[0], t[1], t[2], tanh)); }, inputs);
  check_derivatives(
      2,
      [](const Tensors& t) {
        const Tensor x = t[0] - mean(t[0], 1, true);
        return matmul(x * rsqrt(variance(t[0], 1, true) + 0.1), softmax(t[1], 0)) + gelu(t[2]);
      },
      inputs);
}

// A gradient penalty: the loss has the gradient of a network in it.
TEST(CreateGraph, TrainsWithAGradientPenalty) {
  Generator generator(3);
  const RandomOptions options{.dtype = float64, .generator = &generator};
  std::vector<Tensor> parameters = {parameter(randn({4, 16}, options)), parameter(zeros({16}, {.dtype = float64})),
                                    parameter(randn({16, 1}, options))};
  const Tensor data = randn({32, 4}, options);
  const auto penalty = [&] {
    const Tensor x = parameter(data.clone());
    const Tensor y = matmul(dense(x, parameters[0], parameters[1], tanh), parameters[2]);
    const Tensor gradient = grad(sum(y), {x}, {}, {.create_graph = true})[0];
    return mean(square(norm(gradient, 1) - 1));
  };
  optim::SGD sgd(parameters, {.lr = 0.05});
  const double before = penalty().item();
  for (int step = 0; step < 60; ++step) {
    const Tensor loss = penalty();
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  EXPECT_LT(penalty().item(), before / 10);
}

TEST(CreateGraph, SeesWritesInPlace) {
  const Tensor x = parameter(Tensor::from({3.0}, {1}));
  Tensor y = x * x;
  y *= x;  // x^3
  const Tensor gradient = grad(y, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(gradient.item(), 27);
  EXPECT_EQ(grad(gradient, {x}, {}, {.retain_graph = true})[0].item(), 18);
  {
    const NoGrad no_grad;
    Tensor(x).fill_(1);
  }
  EXPECT_TRUE(has_parts(message_of([&] { grad(gradient, {x}); }), {"was written in place afterwards"}));
}

TEST(CreateGraph, NeedsNothingOfWhatIsOlderThanItsInputs) {
  const Tensor x = parameter(Tensor::from({1.0, 2.0, 4.0}, {1, 3})), h = square(x);
  sum(h).backward();  // drops how h was computed
  for (const auto& f :
       {+[](const Tensor& y) { return layer_norm(y); }, +[](const Tensor& y) { return exp(y * 0.1); }}) {
    const Tensor gradient = grad(sum(square(f(h)) * h), {h}, {}, {.create_graph = true})[0];
    EXPECT_EQ(grad(sum(square(gradient)), {h})[0].shape(), h.shape());
  }
}

TEST(CreateGraph, NamesAnOperationWhoseGradientHasNone) {
  const Tensor x = parameter(ones({}));
  const auto probe = [&] {
    const Tensor y = ones({});
    detail::record("probe", Location::current(), y, {x},
                   [](const Tensor& dy, detail::Gradients& gradients) { gradients(0, [&] { return dy * 2; }); });
    return y;
  };
  EXPECT_TRUE(has_parts(message_of([&] { grad(probe() * 3, {x}, {}, {.create_graph = true}); }),
                        {"[probe] its gradient has no gradient", "gradients_test.cpp:"}));
  EXPECT_EQ(grad(probe() * 3, {x})[0].item(), 6);
}

// --- gradients of one's own

Tensor own_cube(const Tensor& x, GradientOrder order) {
  return with_gradient(
      "own_cube", x.detach() * x.detach() * x.detach(), {x},
      [](const GradientCall& call) { return call.dy() * 3 * square(call.saved(0)); }, {x}, order);
}

TEST(CreateGraph, UsesAGradientOfOnesOwnThatSaysSo) {
  const Tensor x = parameter(Tensor::from({2.0}, {1}));
  const Tensor gradient = grad(own_cube(x, GradientOrder::any), {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(gradient.item(), 12);
  EXPECT_EQ(grad(gradient, {x})[0].item(), 12);
  EXPECT_TRUE(has_parts(message_of([&] { grad(own_cube(x, GradientOrder::first), {x}, {}, {.create_graph = true}); }),
                        {"[own_cube] its gradient has no gradient"}));
}

TEST(CreateGraph, GivesAGradientOfOnesOwnItsValueWithAHistory) {
  const Tensor x = parameter(Tensor::from({0.5}, {1}));
  const auto own_exp = [&](const Tensor& value) {
    return with_gradient(
        "own_exp", value, {x}, [](const GradientCall& call) { return call.dy() * call.saved(0); }, {value},
        GradientOrder::any);
  };
  Tensor y = own_exp(exp(x.detach()));
  for (int order = 0; order < 3; ++order) y = grad(y, {x}, {}, {.create_graph = true})[0];
  EXPECT_NEAR(y.item(), std::exp(0.5), 1e-15);
  const Tensor h = x * 2;
  EXPECT_TRUE(has_parts(message_of([&] {
                          with_gradient(
                              "f", x.detach(), {x}, [](const GradientCall& call) { return call.dy(); }, {h},
                              GradientOrder::any);
                        }),
                        {"[f] saved tensor 0 (1) has a history, but is no input"}));
}

TEST(CreateGraph, CostsTheSameWithoutIt) {
  const Tensor x = parameter(ones({8, 4})), w = parameter(ones({4, 4})), b = parameter(ones({4}));
  const Tensor loss = mean(cross_entropy(dense(x, w, b, relu), int64_tensor({0, 1, 2, 3, 0, 1, 2, 3}, {8})));
  const std::int64_t before = engine_figures().operations;
  loss.backward();
  // The seed, the gradients of mean and of cross_entropy, dense_grad, and two products.
  EXPECT_EQ(engine_figures().operations - before, 6);
}

}  // namespace
}  // namespace asyncgrad::tests
