#include "asyncgrad/autograd/elementwise.h"

#include <algorithm>

#include "asyncgrad/core/tensor_impl.h"
#include "tests/autograd/support.h"

namespace asyncgrad {
namespace {

using tests::message_of;

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
};

class UnaryFunction : public ::testing::TestWithParam<Unary> {};

TEST_P(UnaryFunction, IsThatOfEachElement) {
  const Tensor x = tests::random64({7, 11}, 1, GetParam().low, GetParam().high);
  std::vector<double> expected = tests::values(x);
  std::transform(expected.begin(), expected.end(), expected.begin(), GetParam().reference);
  tests::expect_near(GetParam().f(x), expected);
  tests::expect_near(GetParam().f(x.to(float32)), expected, 2e-5);
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
    {"maximum", maximum, maximum, [](double x, double y) { return std::max(x, y); }},
    {"minimum", minimum, minimum, [](double x, double y) { return std::min(x, y); }},
    {"equal", equal, equal, [](double x, double y) { return x == y ? 1.0 : 0.0; }},
    {"less", less, less, [](double x, double y) { return x < y ? 1.0 : 0.0; }},
    {"greater", greater, greater, [](double x, double y) { return x > y ? 1.0 : 0.0; }},
    {"half_squared_error", half_squared_error, nullptr, [](double x, double y) { return (x - y) * (x - y) / 2; }},
};

class BinaryFunction : public ::testing::TestWithParam<Binary> {};

TEST_P(BinaryFunction, IsThatOfEachPair) {
  const Tensor x = tests::random64({5, 7}, 2, 0.5, 3),
               y = x * less(x, 1.5) + tests::random64({5, 7}, 3, 0.5, 3) * greater(x, 1.5);
  const std::vector<double> xs = tests::values(x), ys = tests::values(y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < xs.size(); ++i) expected.push_back(GetParam().reference(xs[i], ys[i]));
  tests::expect_near(GetParam().f(x, y), expected);
}

TEST_P(BinaryFunction, BroadcastsItsInputs) {
  const Tensor x = tests::random64({2, 3, 1}, 4, 0.5, 3), y = tests::random64({3, 4}, 5, 0.5, 3);
  const std::vector<double> xs = tests::values(x), ys = tests::values(y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 24; ++i) expected.push_back(GetParam().reference(xs[i / 4], ys[i % 12]));
  const Tensor z = GetParam().f(x, y);
  EXPECT_EQ(z.shape(), Shape(2, 3, 4));
  tests::expect_near(z, expected);
}

TEST_P(BinaryFunction, TakesANumberIfItHasAFormForIt) {
  if (GetParam().beside_number == nullptr) return;
  const Tensor x = tests::random64({5}, 6, 0.5, 3);
  std::vector<double> expected = tests::values(x);
  for (double& value : expected) value = GetParam().reference(value, 1.75);
  tests::expect_near(GetParam().beside_number(x, 1.75), expected);
}

INSTANTIATE_TEST_SUITE_P(Table, BinaryFunction, ::testing::ValuesIn(binaries),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Elementwise, TakesANumberOnTheLeft) {
  const Tensor x = tests::float64_tensor({1, 2, 4}, {3});
  EXPECT_EQ((1 + x).to_vector<double>(), (std::vector<double>{2, 3, 5}));
  EXPECT_EQ((1 - x).to_vector<double>(), (std::vector<double>{0, -1, -3}));
  EXPECT_EQ((3 * x).to_vector<double>(), (std::vector<double>{3, 6, 12}));
  EXPECT_EQ((2 / x).to_vector<double>(), (std::vector<double>{2, 1, 0.5}));
}

TEST(Elementwise, WhereChooses) {
  const Tensor condition = tests::float64_tensor({1, 0, -2}, {3});
  const Tensor x = tests::float64_tensor({10, 20}, {2, 1}), y = tests::float64_tensor({7}, {1});
  EXPECT_EQ(where(condition, x, y).to_vector<double>(), (std::vector<double>{10, 7, 10, 20, 7, 20}));
}

TEST(Elementwise, IntegersAreExact) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor x = tests::int64_tensor({large, -3}, {2});
  EXPECT_EQ((x + 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{large + 1, -2}));
  EXPECT_EQ((x * large).to_vector<std::int64_t>()[1], -3 * large);
  EXPECT_EQ(equal(x, large).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ((-x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{-large, 3}));
}

TEST(Elementwise, OfNothingIsNothing) {
  const Tensor x = zeros({0, 3});
  EXPECT_EQ((x + ones({3})).shape(), Shape(0, 3));
  EXPECT_TRUE(relu(x).to_vector<float>().empty());
}

TEST(Elementwise, ComparisonsWantNoGradient) {
  const Tensor x = parameter(ones({2}));
  EXPECT_FALSE(greater(x, 0).requires_grad());
}

TEST(Elementwise, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3}), y = zeros({4});
  EXPECT_EQ(message_of([&] { x + y; }), "[add] shapes do not broadcast: x (2, 3), y (4)");
  EXPECT_EQ(message_of([&] { where(x, x, y); }), "[where] shapes do not broadcast: condition (2, 3), x (2, 3), y (4)");
  EXPECT_EQ(message_of([&] { where(x, y, Tensor()); }), "[where] a tensor that holds nothing");
  EXPECT_EQ(message_of([&] {
              x* zeros({2, 3}, {.dtype = float64});
            }),
            "[multiply] types differ: x float32 (2, 3), y float64 (2, 3)");
  // Of several errors those of types come before those of shapes.
  EXPECT_EQ(message_of([&] { where(x, y, zeros({4}, {.dtype = float64})); }),
            "[where] types differ: condition float32 (2, 3), x float32 (4), y float64 (4)");
  EXPECT_EQ(message_of([&] { exp(zeros({2}, {.dtype = int64})); }), "[exp] int64 is not supported: x int64 (2)");
  EXPECT_EQ(message_of([&] { zeros({2}, {.dtype = int64}) + 0.5; }), "[add] int64 cannot hold 0.5");
  EXPECT_EQ(message_of([&] { x + 1e300; }), "[add] float32 cannot hold 1e+300");
  EXPECT_EQ(message_of([&] { relu(Tensor()); }), "[relu] a tensor that holds nothing");
  EXPECT_EQ(message_of([&] { x - Tensor(); }), "[subtract] a tensor that holds nothing");
  EXPECT_EQ(message_of([&] { Tensor() * 2; }), "[multiply] a tensor that holds nothing");
}

TEST(Elementwise, RefusesTensorsOfTwoDevices) {
  const Tensor x = zeros({2, 3}), y = zeros({3});
  y.impl()->device = Device("cuda:1");  // there may be no such device here
  EXPECT_EQ(message_of([&] { x + y; }), "[add] devices differ: x (2, 3) on cpu, y (3) on cuda:1");
}

}  // namespace
}  // namespace asyncgrad
