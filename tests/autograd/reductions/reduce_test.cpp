#include "asyncgrad/autograd/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

// The sum over the axes whose bit is set, by its definition; one element for each place in the axes that are kept.
std::vector<double> sum_by_definition(const Tensor& x, unsigned axes) {
  const std::vector<double> all = values(x);
  std::int64_t kept = 1;
  for (int axis = 0; axis < x.rank(); ++axis) kept *= (axes >> axis & 1U) != 0 ? 1 : x.size(axis);
  std::vector<double> result(static_cast<std::size_t>(kept));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t place = 0, stride = 1, rest = i;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      const auto extent = static_cast<std::size_t>(x.size(axis));
      if ((axes >> axis & 1U) == 0) {
        place += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
    result[place] += all[i];
  }
  return result;
}

TEST(Prod, MultipliesOverAxes) {
  const Tensor x = Tensor::from({1.0, 2.0, 3.0, 4.0, -5.0, 6.0, 0.5, 2.0}, {2, 2, 2});
  EXPECT_EQ(prod(x).item(), -720);
  EXPECT_EQ(prod(x, 0).to_vector<double>(), (std::vector<double>{-5, 12, 1.5, 8}));
  EXPECT_EQ(prod(x, {0, 2}, true).shape(), Shape(1, 2, 1));
  EXPECT_EQ(prod(x, {0, 2}).to_vector<double>(), (std::vector<double>{-60, 12}));
  EXPECT_EQ(prod(x, {}).to_vector<double>(), x.to_vector<double>());
  // Nothing is rounded between axes that are not adjacent.
  const Tensor far = parameter(Tensor::from({1e30F, 1e30F, 1e-30F, 1e-30F}, {2, 1, 2}));
  EXPECT_NEAR(prod(far, {0, 2}).item(), 1, 1e-6);
  EXPECT_NEAR(grad(prod(far, {0, 2}), {far})[0].to_vector<float>()[2], 1e30, 1e24);
  EXPECT_EQ(prod(x > 0, -1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 0, 1}));
  EXPECT_EQ(prod(zeros({0, 2}), 0).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(prod(full({3}, std::int64_t{1} << 21, {.dtype = int64})).item<std::int64_t>(), std::int64_t{1} << 63);
  EXPECT_EQ(message_of([&] { prod(x, 3); }), "[prod] there is no axis 3 in (2, 2, 2); axes are -3 to 2");
  EXPECT_EQ(message_of([&] { prod(x, {0, -3}); }), "[prod] axis -3 of (2, 2, 2) is named twice");
  EXPECT_EQ(message_of([] { prod(Tensor()); }),
            "[prod] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

// y / x would be NaN.
TEST(Prod, HasTheProductOfTheOthersAsGradientOfZeros) {
  const auto gradient = [](const std::vector<double>& values) {
    const Tensor x = parameter(Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
    prod(x).backward();
    return x.grad().to_vector<double>();
  };
  EXPECT_EQ(gradient({2, 0, 3}), (std::vector<double>{0, 6, 0}));
  EXPECT_EQ(gradient({2, 0, 3, 0}), (std::vector<double>(4, 0)));
  EXPECT_EQ(gradient({infinity, 2, 3}), (std::vector<double>{6, infinity, infinity}));
  // The gradients of the gradient: with zeros, and of an odd number of elements.
  const Tensor x = parameter(Tensor::from({2.0, 0.0, 3.0, 0.0, 5.0}, {5}));
  const Tensor dx = grad({prod(x)}, {x}, {}, {.create_graph = true})[0];
  dx[1].backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 0, 0, 30, 0}));
}

TEST(Sum, AddsOverEverySetOfAxes) {
  const Tensor x = random64({3, 2, 5, 4}, 1);
  for (unsigned axes = 0; axes < 16; ++axes) {
    Tensor y;
    const auto over = [&](std::initializer_list<int> list) { y = sum(x, list); };
    switch (axes) {
      case 0b0000:
        over({});
        break;
      case 0b0001:
        over({0});
        break;
      case 0b0010:
        over({1});
        break;
      case 0b0011:
        over({1, 0});
        break;
      case 0b0100:
        over({-2});
        break;
      case 0b0101:
        over({2, 0});
        break;
      case 0b0110:
        over({1, 2});
        break;
      case 0b0111:
        over({0, 1, 2});
        break;
      case 0b1000:
        over({3});
        break;
      case 0b1001:
        over({0, 3});
        break;
      case 0b1010:
        over({-1, 1});
        break;
      case 0b1011:
        over({0, 1, 3});
        break;
      case 0b1100:
        over({2, 3});
        break;
      case 0b1101:
        over({0, 2, 3});
        break;
      case 0b1110:
        over({1, 2, 3});
        break;
      default:
        over({0, 1, 2, 3});
    }
    SCOPED_TRACE(axes);
    expect_near(y, sum_by_definition(x, axes));
  }
}

TEST(Sum, DropsOrKeepsAxes) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Shape());
  EXPECT_EQ(sum(x, 1).shape(), Shape(2, 4));
  EXPECT_EQ(sum(x, 1, true).shape(), Shape(2, 1, 4));
  EXPECT_EQ(sum(x, {0, -1}).shape(), Shape(3));
  EXPECT_EQ(sum(x, {0, -1}, true).shape(), Shape(1, 3, 1));
  EXPECT_EQ(sum(x).item(), 24);
}

TEST(Sum, OfNothingIsZero) {
  EXPECT_EQ(sum(zeros({0})).item(), 0);
  EXPECT_EQ(sum(zeros({2, 0}), 1).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Sum, OfIntegersIsExact) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(sum(int64_tensor({large, 2}, {2})).item<std::int64_t>(), large + 2);
}

// Alone a long line is summed by several threads, and among others by one.
TEST(Sum, OfALongLineHasTheBitsOfOneAmongOthers) {
  constexpr std::int64_t lines = 9, n = 262144;
  const Tensor x = randn({lines, n}), sums = sum(x, 1), first = x.slice(0, 1);
  EXPECT_EQ(sum(first).item(), sums.to_vector<float>()[0]);
  EXPECT_EQ(mean(first, {0, 1}).item(), mean(x, 1).to_vector<float>()[0]);
  EXPECT_EQ(norm(first).item(), norm(x, 1).to_vector<float>()[0]);
  const Tensor y = parameter(first.clone());
  sum(y).backward();
  EXPECT_EQ(y.grad().to_vector<float>(), std::vector<float>(n, 1));
}

TEST(Sum, OfBooleansCountsThem) {
  const Tensor x = randn({7, 40, 9}) > 0.3, numbers = x.to(int64);
  for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}, Axes{2}, Axes{0, 1}, Axes{0, 2}, Axes{0, 1, 2}}) {
    const Tensor counts = sum(x, axes), shares = mean(x, axes);
    EXPECT_EQ(counts.dtype(), int64);
    EXPECT_EQ(counts.to_vector<std::int64_t>(), sum(numbers, axes).to_vector<std::int64_t>());
    EXPECT_EQ(shares.dtype(), float32);
    EXPECT_EQ(shares.to_vector<float>(), mean(x.to(float32), axes).to_vector<float>());
  }
  EXPECT_EQ(sum(x).item<std::int64_t>(), sum(numbers).item<std::int64_t>());
}

TEST(Mean, DividesByTheNumberOfElements) {
  const Tensor x = float64_tensor({1, 2, 3, 4, 5, 9}, {2, 3});
  EXPECT_DOUBLE_EQ(mean(x).item(), 4);
  expect_near(mean(x, 0), {2.5, 3.5, 6});
  expect_near(mean(x, 1, true), {2, 6});
}

TEST(Max, IsTheLargestAlongAnAxis) {
  const Tensor x = float64_tensor({1, 7, 3, 4, -5, 3}, {2, 3});
  EXPECT_EQ(max(x, 0).to_vector<double>(), (std::vector<double>{4, 7, 3}));
  EXPECT_EQ(max(x, -1, true).to_vector<double>(), (std::vector<double>{7, 4}));
  EXPECT_EQ(max(x, -1, true).shape(), Shape(2, 1));
  EXPECT_EQ(argmax(x, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(argmax(x, 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
}

TEST(Max, OfNaNIsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = float64_tensor({1, nan, 3}, {3});
  EXPECT_TRUE(std::isnan(max(x, 0).item()));
  EXPECT_EQ(argmax(x, 0).item(), 1);
}

TEST(Max, IsTheLargestOverSeveralAxes) {
  const Tensor x = random64({3, 4, 5}, 2);
  const std::vector<double> all = values(x);
  std::vector<double> largest(4, -2), smallest(4, 2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    largest[i / 5 % 4] = std::max(largest[i / 5 % 4], all[i]);
    smallest[i / 5 % 4] = std::min(smallest[i / 5 % 4], all[i]);
  }
  const Tensor apart = max(x, {0, 2}, true);
  EXPECT_EQ(apart.shape(), Shape(1, 4, 1));
  EXPECT_EQ(values(apart), largest);
  EXPECT_EQ(values(min(x, {2, 0})), smallest);
  EXPECT_EQ(values(max(x)), values(max(max(x, {0, 2}), 0)));
  EXPECT_EQ(max(x).shape(), Shape());
  EXPECT_EQ(min(x, {}).shape(), x.shape());
}

TEST(Min, IsTheSmallestAlongAnAxis) {
  const Tensor x = int64_tensor({1, 7, 3, 4, -5, 3}, {2, 3});
  EXPECT_EQ(min(x, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -5, 3}));
  EXPECT_EQ(min(x).item<std::int64_t>(), -5);
  EXPECT_EQ(argmin(x, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(argmin(x, 1, true).shape(), Shape(2, 1));
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 4);
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmax(x).shape(), Shape());
}

TEST(Min, OfNaNIsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = float64_tensor({1, nan, 3, nan}, {4});
  EXPECT_TRUE(std::isnan(min(x).item()));
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 1);
}

// Along other axes neighbouring lines are gone through at once. The elements have equals and NaN among them.
TEST(Extremes, AreThoseOfTheLastAxisAlongOthers) {
  for (const Shape& shape : {Shape(2, 7, 150), Shape(1, 3000, 70)}) {
    SCOPED_TRACE(shape.str());
    Tensor x = randint(0, 5, shape).to(float32);
    assign(x, {{1, 1, 6, 2}, {2, 0, shape[2], 9}}, std::numeric_limits<double>::quiet_NaN());
    const Tensor last = parameter(x.transpose(1, 2));
    parameter(x);
    for (const auto place : {static_cast<Tensor (*)(const Arg&, int, bool)>(argmax),
                             static_cast<Tensor (*)(const Arg&, int, bool)>(argmin)}) {
      EXPECT_EQ(place(x, 1, false).to_vector<std::int64_t>(), place(last, 2, false).to_vector<std::int64_t>());
    }
    const Tensor dy = randn({shape[0], shape[2]});
    max(x, 1).backward(dy);
    max(last, 2).backward(dy);
    EXPECT_EQ(x.grad().to_vector<float>(), last.grad().transpose(1, 2).to_vector<float>());
  }
}

TEST(Variance, IsTheMeanSquareOfTheDifferencesFromTheMean) {
  const Tensor x = float64_tensor({1, 2, 3, 4, 5, 9}, {2, 3});
  expect_near(variance(x), {40.0 / 6});
  expect_near(variance(x, 1), {2.0 / 3, 14.0 / 3});
  expect_near(variance(x, 1, true, 1), {1, 7});
  EXPECT_EQ(variance(x, 1, true).shape(), Shape(2, 1));
  expect_near(variance(x, {0, 1}, false, 1), {8});
  // The mean is far from 0: the mean of squares less the square of the mean would have lost every digit.
  expect_near(variance((x + 1e6).to(float32)), {40.0 / 6}, 1e-6);
  EXPECT_EQ(variance(zeros({0, 3}), 1).shape(), Shape(0));
}

TEST(Norm, IsTheRootOfTheSumOfSquares) {
  const Tensor x = float64_tensor({3, -4, 0, 12, 5, 0}, {2, 3});
  expect_near(norm(x, 1), {5, 13});
  expect_near(norm(x), {std::sqrt(194.0)});
  EXPECT_EQ(norm(x, {0, 1}, true).shape(), Shape(1, 1));
  EXPECT_EQ(norm(zeros({0})).item(), 0);
  EXPECT_TRUE(std::isnan(norm(full({2}, std::numeric_limits<double>::quiet_NaN())).item()));
}

TEST(Reductions, OfAnAxisOfOneElementKeepIt) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {3, -1e200, 1e-200, infinity, -infinity};
  const Tensor x = float64_tensor(values, {5, 1});
  EXPECT_EQ(sum(x, 1).to_vector<double>(), values);
  EXPECT_EQ(mean(x, 1).to_vector<double>(), values);
  EXPECT_EQ(max(x, 1).to_vector<double>(), values);
  EXPECT_EQ(logsumexp(x, 1).to_vector<double>(), values);
  EXPECT_EQ(norm(x, 1).to_vector<double>(), (std::vector<double>{3, 1e200, 1e-200, infinity, infinity}));
  EXPECT_EQ(norm(x, 1, true).shape(), Shape(5, 1));
  EXPECT_EQ(logsumexp(x, 1).shape(), Shape(5));
  const Tensor leaf = parameter(float64_tensor({3, -4, 0}, {3, 1}));
  backward(sum(norm(leaf, 1) * 2 + logsumexp(leaf, 1)));
  EXPECT_EQ(leaf.grad().to_vector<double>(), (std::vector<double>{3, -1, 1}));
  const Tensor extreme = parameter(float64_tensor({1e-310, -infinity}, {2, 1}));
  backward(sum(norm(extreme, 1)));
  EXPECT_EQ(extreme.grad().to_vector<double>(), (std::vector<double>{1, -1}));
  const Tensor undefined = parameter(full({1}, std::numeric_limits<double>::quiet_NaN()));
  backward(norm(undefined));
  EXPECT_TRUE(std::isnan(undefined.grad().item()));
}

TEST(Logsumexp, DoesNotOverflow) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = float64_tensor({1000, 1000, -1000, -1001, 0, 1}, {3, 2});
  expect_near(logsumexp(x, 1), {1000 + std::log(2), -1000 + std::log1p(std::exp(-1)), 1 + std::log1p(std::exp(-1))});
  expect_near(logsumexp(x.to(float32), -1, true), {1000 + std::log(2), -999.6867383, 1.3132617}, 1e-6);
  expect_near(logsumexp(x), {1000 + std::log(2)});
  const Tensor special = float64_tensor({-infinity, -infinity, infinity, 1, nan, infinity}, {3, 2});
  const std::vector<double> y = logsumexp(special, 1).to_vector<double>();
  EXPECT_EQ(y[0], -infinity);
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(Cumsum, AddsUpAlongAnAxis) {
  const Tensor x = float64_tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(cumsum(x, 0).to_vector<double>(), (std::vector<double>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(cumsum(x, -1).to_vector<double>(), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(cumsum(x.to(int64), 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(cumsum(zeros({0, 3}), 0).shape(), Shape(0, 3));
  // In float32 alone 0.1 added a million times would lose three digits.
  EXPECT_NEAR(max(cumsum(full({1000000}, 0.1), 0)).item(), 1e6 * static_cast<double>(0.1F), 0.01);
}

TEST(Reductions, RefuseWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3}), integers = zeros({2}, {.dtype = int64});
  EXPECT_EQ(message_of([&] { max(zeros({2, 0})); }), "[max] axis 1 of (2, 0) has no elements");
  EXPECT_EQ(message_of([&] { min(zeros({0, 2}), {1, 0}); }), "[min] axis 0 of (0, 2) has no elements");
  EXPECT_EQ(message_of([&] { min(x, {0, -2}); }), "[min] axis -2 of (2, 3) is named twice");
  EXPECT_EQ(message_of([&] { argmin(zeros({0})); }), "[argmin] axis 0 of (0) has no elements");
  EXPECT_EQ(message_of([&] { logsumexp(zeros({0, 2}), 0); }), "[logsumexp] axis 0 of (0, 2) has no elements");
  EXPECT_EQ(message_of([&] { variance(x, 0, false, 2); }),
            "[variance] a correction of 2 leaves nothing of 2 elements: x (2, 3)");
  EXPECT_EQ(message_of([&] { variance(zeros({0})); }),
            "[variance] a correction of 0 leaves nothing of 0 elements: x (0)");
  EXPECT_EQ(message_of([&] { norm(integers); }),
            "[norm] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { cumsum(x, 2); }), "[cumsum] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { cumsum(Tensor(), 0); }),
            "[cumsum] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { sum(x, 2); }), "[sum] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { mean(x, {0, -3}); }), "[mean] there is no axis -3 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { sum(x, {1, -1}); }), "[sum] axis -1 of (2, 3) is named twice");
  EXPECT_EQ(message_of([&] { mean(integers); }),
            "[mean] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { max(zeros({2, 0}), 1); }), "[max] axis 1 of (2, 0) has no elements");
  EXPECT_EQ(message_of([&] { argmax(x, 5); }), "[argmax] there is no axis 5 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([] { sum(Tensor()); }),
            "[sum] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

// The CPU in two parts: two devices.
class ReduceAdd : public testing::Test {
 protected:
  void SetUp() override { set_engine_options({.workers = 2, .cpu_parts = 2}); }
  void TearDown() override { set_engine_options({}); }
};

TEST_F(ReduceAdd, AddsInTheOrderOfTheInputs) {
  const Tensor big = full({3}, 1e8), small = full({3}, 3, {.device = "cpu:1"}), opposite = full({3}, -1e8);
  for (const Device device : {"cpu:0", "cpu:1"}) {
    const Tensor total = reduce_add({big, small, opposite}, device);
    EXPECT_EQ(total.device(), device);
    EXPECT_EQ(total.to_vector<float>(), (std::vector<float>{0, 0, 0}));  // 1e8 + 3 is 1e8 in float32
    EXPECT_EQ(reduce_add({big, opposite, small}, device).to_vector<float>(), (std::vector<float>{3, 3, 3}));
  }
  Tensor alone = reduce_add({big}, "cpu:0");
  alone += 1e9;
  EXPECT_EQ(big.to_vector<float>(), (std::vector<float>{1e8, 1e8, 1e8})) << "a sum of one is a tensor of its own, too";
}

TEST_F(ReduceAdd, IsDifferentiable) {
  const Function f = [](const std::vector<Tensor>& t) {
    const Tensor square = t[1] * t[1];
    return reduce_add({tanh(t[0]), square.to("cpu:1"), t[0].to("cpu:1") * 3, t[2]}, "cpu:1").to("cpu:0");
  };
  check_gradients(f, {random64({2, 3}, 1), random64({2, 3}, 2), random64({2, 3}, 3)});
}

TEST_F(ReduceAdd, EachInputGetsTheGradientWhereItIs) {
  const Tensor a = parameter(ones({2})), b = parameter(ones({2}, {.device = "cpu:1"}));
  sum(reduce_add({a, b}, "cpu:1")).backward();
  EXPECT_EQ(a.grad().device(), Device("cpu:0"));
  EXPECT_EQ(b.grad().device(), Device("cpu:1"));
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_F(ReduceAdd, RefusesWhatDoesNotFitAtTheCall) {
  EXPECT_EQ(message_of([] { reduce_add({}, "cpu:0"); }), "[reduce_add] needs at least one tensor, got none");
  EXPECT_EQ(message_of([] {
              reduce_add({ones({2}), ones({1})}, "cpu:0");
            }),
            "[reduce_add] shapes differ: first (2), another (1)");
  EXPECT_EQ(
      message_of([] {
        reduce_add({ones({2}), ones({2}, {.dtype = float64})}, "cpu:0");
      }),
      "[reduce_add] types differ: first float32 (2), another float64 (2); another.to(ag::float32) converts another");
  EXPECT_EQ(message_of([] {
              reduce_add({ones({2}), Tensor()}, "cpu:0");
            }),
            "[reduce_add] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([] { reduce_add({ones({2})}, "cpu:2"); }),
            "[device] there is no cpu:2 here, only cpu, cpu:1; EngineOptions::cpu_parts makes several of the CPU");
}

}  // namespace
}  // namespace asyncgrad::tests
