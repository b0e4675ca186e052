#include "asyncgrad/autograd/elementwise.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "asyncgrad/core/tensor_impl.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

struct Unary {
  const char* name;
  Tensor (*f)(const Arg&);
  double (*reference)(double);
  double low = -2, high = 2;
};
const Unary unaries[] = {
    {"negate", [](const Arg& x) { return -x; }, [](double x) { return -x; }},
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, -8, 8},
    {"exp", exp, [](double x) { return std::exp(x); }, -20, 20},
    {"log", log, [](double x) { return std::log(x); }, 1e-3, 50},
    {"square", square, [](double x) { return x * x; }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0, 9},
    {"abs", abs, [](double x) { return std::abs(x); }},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.01, 9},
    {"sin", sin, [](double x) { return std::sin(x); }, -20, 20},
    {"cos", cos, [](double x) { return std::cos(x); }, -20, 20},
    {"erf", erf, [](double x) { return std::erf(x); }, -4, 4},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, -0.9, 50},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, -3, 3},
    {"sinh", sinh, [](double x) { return std::sinh(x); }, -30, 30},
    {"cosh", cosh, [](double x) { return std::cosh(x); }, -30, 30},
    {"log2", log2, [](double x) { return std::log2(x); }, 1e-3, 50},
    {"log10", log10, [](double x) { return std::log10(x); }, 1e-3, 50},
    {"floor", floor, [](double x) { return std::floor(x); }},
    {"round", round, [](double x) { return std::nearbyint(x); }},
    {"sign", sign, [](double x) { return x < 0 ? -1.0 : 1.0; }},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, -30, 30},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(x)); }, -30, 30},
    {"gelu", gelu, [](double x) { return x * std::erfc(-x / std::sqrt(2)) / 2; }, -6, 6},
    {"gelu_tanh", gelu_tanh,
     [](double x) { return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2; }, -4, 4},
    {"hardswish", hardswish, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, -6, 6},
    {"selu", selu, [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }, -6,
     6},
    {"softsign", softsign, [](double x) { return x / (1 + std::abs(x)); }, -9, 9},
    {"mish", mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -20, 20},
    {"leaky_relu", leaky_relu, [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"leaky_relu_0_2", [](const Arg& x) { return leaky_relu(x, 0.2); }, [](double x) { return x > 0 ? x : 0.2 * x; }},
    {"elu", elu, [](double x) { return x > 0 ? x : std::expm1(x); }, -6, 6},
    {"elu_2", [](const Arg& x) { return elu(x, 2); }, [](double x) { return x > 0 ? x : 2 * std::expm1(x); }, -6, 6},
    {"huber", [](const Arg& x) { return huber(x, 0.75); },
     [](double x) { return std::abs(x) <= 0.75 ? x * x / 2 : 0.75 * (std::abs(x) - 0.375); }},
    {"clip", [](const Arg& x) { return clip(x, -0.5, 1); }, [](double x) { return std::clamp(x, -0.5, 1.0); }},
};

class UnaryFunction : public ::testing::TestWithParam<Unary> {};

TEST_P(UnaryFunction, IsThatOfEachElement) {
  const Tensor x = random64({7, 11}, 1, GetParam().low, GetParam().high);
  std::vector<double> expected = values(x);
  std::transform(expected.begin(), expected.end(), expected.begin(), GetParam().reference);
  expect_near(GetParam().f(x), expected);
  expect_near(GetParam().f(x.to(float32)), expected, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Table, UnaryFunction, ::testing::ValuesIn(unaries),
                         [](const auto& info) { return std::string(info.param.name); });

struct Binary {
  const char* name;
  Tensor (*f)(const Arg&, const Arg&);
  Tensor (*beside_number)(const Arg&, const Scalar&);
  double (*reference)(double, double);
};
const Binary binaries[] = {
    {"add", operator+, operator+, [](double x, double y) { return x + y; }},
    {"subtract", operator-, operator-, [](double x, double y) { return x - y; }},
    {"multiply", operator*, operator*, [](double x, double y) { return x * y; }},
    {"divide", operator/, operator/, [](double x, double y) { return x / y; }},
    {"pow", pow, pow, [](double x, double y) { return std::pow(x, y); }},
    {"hypot", hypot, hypot, [](double x, double y) { return std::hypot(x, y); }},
    {"maximum", maximum, maximum, [](double x, double y) { return std::max(x, y); }},
    {"minimum", minimum, minimum, [](double x, double y) { return std::min(x, y); }},
    {"equal", equal, equal, [](double x, double y) { return x == y ? 1.0 : 0.0; }},
    {"not_equal", not_equal, not_equal, [](double x, double y) { return x != y ? 1.0 : 0.0; }},
    {"less_equal", less_equal, less_equal, [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
    {"greater_equal", greater_equal, greater_equal, [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
    {"less", less, less, [](double x, double y) { return x < y ? 1.0 : 0.0; }},
    {"greater", greater, greater, [](double x, double y) { return x > y ? 1.0 : 0.0; }},
    {"half_squared_error", half_squared_error, nullptr, [](double x, double y) { return (x - y) * (x - y) / 2; }},
    {"absolute_error", absolute_error, nullptr, [](double x, double y) { return std::abs(x - y); }},
    {"logistic_loss", logistic_loss, nullptr, [](double x, double y) { return std::log1p(std::exp(x)) - x * y; }},
    {"divergence", divergence, nullptr, [](double x, double y) { return y * (std::log(y) - x); }},
};

class BinaryFunction : public ::testing::TestWithParam<Binary> {};

TEST_P(BinaryFunction, IsThatOfEachPair) {
  const Tensor x = random64({5, 7}, 2, 0.5, 3), y = x * less(x, 1.5) + random64({5, 7}, 3, 0.5, 3) * greater(x, 1.5);
  const std::vector<double> xs = values(x), ys = values(y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < xs.size(); ++i) expected.push_back(GetParam().reference(xs[i], ys[i]));
  expect_near(GetParam().f(x, y), expected);
}

TEST_P(BinaryFunction, BroadcastsItsInputs) {
  const Tensor x = random64({2, 3, 1}, 4, 0.5, 3), y = random64({3, 4}, 5, 0.5, 3);
  const std::vector<double> xs = values(x), ys = values(y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 24; ++i) expected.push_back(GetParam().reference(xs[i / 4], ys[i % 12]));
  const Tensor z = GetParam().f(x, y);
  EXPECT_EQ(z.shape(), Shape(2, 3, 4));
  expect_near(z, expected);
}

TEST_P(BinaryFunction, TakesANumberIfItHasAFormForIt) {
  if (GetParam().beside_number == nullptr) return;
  const Tensor x = random64({5}, 6, 0.5, 3);
  std::vector<double> expected = values(x);
  for (double& value : expected) value = GetParam().reference(value, 1.75);
  expect_near(GetParam().beside_number(x, 1.75), expected);
}

INSTANTIATE_TEST_SUITE_P(Table, BinaryFunction, ::testing::ValuesIn(binaries),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Elementwise, FunctionsOfTwoTensorsAreWhatTheirRowsSay) {
  EXPECT_FALSE(binary_elementwise_functions().empty());
  for (const BinaryElementwiseFunction& row : binary_elementwise_functions()) {
    SCOPED_TRACE(row.name);
    const Tensor x = parameter(random64({5}, 6, 0.5, 3)), integers = ones({5}, {.dtype = int64});
    const Tensor z = row.function(x, full({5}, 1.75, {.dtype = float64}));
    EXPECT_EQ(z.dtype() == boolean, row.gives_bool);
    EXPECT_EQ(z.requires_grad(), row.is_differentiable);
    if (row.beside_number != nullptr) {
      EXPECT_EQ(values(row.beside_number(x, 1.75).detach()), values(z.detach()));
    }
    EXPECT_EQ(message_of([&] { row.function(integers, integers); }) == "nothing was thrown", row.has_int64);
    EXPECT_THAT(message_of([&] { row.function(x, ones({4}, {.dtype = float64})); }),
                ::testing::StartsWith("[" + std::string(row.name) + "]"));
  }
}

TEST(Elementwise, WhereTakesANumber) {
  const Tensor x = parameter(float64_tensor({-1, 0, 2}, {3}));
  EXPECT_EQ(where(x > 0, x, 0.5).to_vector<double>(), (std::vector<double>{0.5, 0.5, 2}));
  const Tensor y = where(x > 0, 7, x);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{-1, 0, 7}));
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(where(int64_tensor({1, 0}, {2}) > 0, int64_tensor({4, 5}, {2}), 3).dtype(), int64);
}

TEST(Elementwise, TakesANumberOnTheLeft) {
  const Tensor x = float64_tensor({1, 2, 4}, {3});
  EXPECT_EQ((1 + x).to_vector<double>(), (std::vector<double>{2, 3, 5}));
  EXPECT_EQ((1 - x).to_vector<double>(), (std::vector<double>{0, -1, -3}));
  EXPECT_EQ((3 * x).to_vector<double>(), (std::vector<double>{3, 6, 12}));
  EXPECT_EQ((2 / x).to_vector<double>(), (std::vector<double>{2, 1, 0.5}));
}

TEST(Elementwise, IntegersAreRoundAlready) {
  const Tensor x = int64_tensor({-7, 0, (std::int64_t{1} << 53) + 1}, {3});
  EXPECT_EQ(floor(x).to_vector<std::int64_t>(), x.to_vector<std::int64_t>());
  EXPECT_EQ(round(x).to_vector<std::int64_t>(), x.to_vector<std::int64_t>());
  EXPECT_EQ(sign(x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-1, 0, 1}));
  EXPECT_EQ(clip(x, -1, 5).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-1, 0, 5}));
}

TEST(Clip, PassesTheGradientOfWhatItKeeps) {
  const Tensor x = parameter(float64_tensor({-2, -1, 0.5, 1, 7, nan}, {6}));
  const Tensor y = clip(x, -1, 1);
  sum(y * 3).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 3, 3, 3, 0, 0}));
  EXPECT_EQ(clip(x, -infinity, 0).to_vector<double>()[4], 0);
}

TEST(Clip, RefusesBoundsThatAreNotInOrder) {
  const Tensor x = zeros({2});
  EXPECT_EQ(message_of([&] { clip(x, 1, 0.5); }), "[clip] low 1 is not at most high 0.5");
  EXPECT_EQ(message_of([&] { clip(x, nan, 0.5); }), "[clip] low nan is not at most high 0.5");
  EXPECT_EQ(message_of([&] { clip(zeros({2}, {.dtype = int64}), 0.5, 1); }),
            "[clip] int64 cannot hold 0.5; float32 does");
}

TEST(Elementwise, RoundsIntegersBesideFloats) {
  EXPECT_EQ((zeros({1}) + 123456789).item(), 123456792);
  EXPECT_EQ(maximum(zeros({1}), 16777217).item(), 16777216);
  EXPECT_EQ(full({1}, 16777217).item(), 16777216);
  EXPECT_EQ((zeros({1}, {.dtype = float64}) + ((std::int64_t{1} << 53) + 1)).item(), 0x1p53);
}

TEST(Elementwise, WhereChooses) {
  const Tensor condition = float64_tensor({1, 0, -2}, {3});
  const Tensor x = float64_tensor({10, 20}, {2, 1}), y = float64_tensor({7}, {1});
  EXPECT_EQ(where(condition, x, y).to_vector<double>(), (std::vector<double>{10, 7, 10, 20, 7, 20}));
}

TEST(Elementwise, IntegersAreExact) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor x = int64_tensor({large, -3}, {2});
  EXPECT_EQ((x + 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{large + 1, -2}));
  EXPECT_EQ((x * large).to_vector<std::int64_t>()[1], -3 * large);
  EXPECT_EQ(equal(x, large).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ((-x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-large, 3}));
}

TEST(Elementwise, OfNothingIsNothing) {
  const Tensor x = zeros({0, 3});
  EXPECT_EQ((x + ones({3})).shape(), Shape(0, 3));
  EXPECT_TRUE(relu(x).to_vector<float>().empty());
}

TEST(Elementwise, StepsWantNoGradient) {
  const Tensor x = parameter(ones({2}));
  EXPECT_FALSE(greater(x, 0).requires_grad());
  EXPECT_FALSE((floor(x).requires_grad() || round(x).requires_grad() || sign(x).requires_grad()));
}

TEST(Elementwise, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3}), y = zeros({4});
  EXPECT_EQ(message_of([&] { x + y; }),
            "[add] shapes do not broadcast: x (2, 3), y (4); from the last axis on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { where(x, x, y); }),
            "[where] shapes do not broadcast: condition (2, 3), x (2, 3), y (4); from the last axis on, extents are to "
            "be equal or 1");
  EXPECT_EQ(message_of([&] { where(x, y, Tensor()); }),
            "[where] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] {
              x* zeros({2, 3}, {.dtype = float64});
            }),
            "[multiply] types differ: x float32 (2, 3), y float64 (2, 3); y.to(ag::float32) converts y");
  EXPECT_EQ(message_of([&] { where(ones({2}), ones({2}) > 0, 1); }),
            "[where] the condition must be bool beside bool, got float32 (2)");
  EXPECT_EQ(message_of([&] { leaky_relu(zeros({2}, {.dtype = int64})); }),
            "[leaky_relu] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  // An error of the types is reported before one of the shapes.
  EXPECT_EQ(
      message_of([&] { where(x, y, zeros({4}, {.dtype = float64})); }),
      "[where] types differ: condition float32 (2, 3), x float32 (4), y float64 (4); y.to(ag::float32) converts y");
  EXPECT_EQ(message_of([&] { exp(zeros({2}, {.dtype = int64})); }),
            "[exp] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { zeros({2}, {.dtype = int64}) + 0.5; }), "[add] int64 cannot hold 0.5; float32 does");
  EXPECT_EQ(message_of([&] { x + 1e300; }), "[add] float32 cannot hold 1e+300; float64 does");
  EXPECT_EQ(message_of([&] { relu(Tensor()); }),
            "[relu] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { x - Tensor(); }),
            "[subtract] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { Tensor() * 2; }),
            "[multiply] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Elementwise, RefusesTensorsOfTwoDevices) {
  const Tensor x = zeros({2, 3}), y = zeros({3});
  y.impl()->device = Device("cuda:1");  // there may be no such device here
  EXPECT_EQ(message_of([&] { x + y; }),
            "[add] devices differ: x (2, 3) on cpu, y (3) on cuda:1; y.to(\"cpu\") copies y");
}

}  // namespace
}  // namespace asyncgrad::tests
