#include "asyncgrad/autograd/copy.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Clone, HasItsOwnStorage) {
  Tensor x = ones({2});
  const Tensor shared = x, copy = clone(x);
  x += 1;
  EXPECT_EQ(shared.to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(copy.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(To, Converts) {
  const Tensor x = float64_tensor({1.75, -1.75}, {2});
  EXPECT_EQ(x.to(int64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -1}));
  EXPECT_EQ(to(x, float32).to_vector<float>(), (std::vector<float>{1.75f, -1.75f}));
  EXPECT_EQ(x.to(float64).impl(), x.impl());
}

TEST(To, TheSameDeviceIsTheSameTensor) {
  const Tensor x = ones({2});
  EXPECT_EQ(to(x, "cpu").impl(), x.impl());
  EXPECT_THAT(message_of([&] { x.to("cuda:100"); }),
              testing::StartsWith("[device] there is no cuda:100 here, only cpu"));
}

TEST(InPlace, ComputesInTheSharedStorage) {
  Tensor x = float64_tensor({1, 2, 3, 4}, {2, 2});
  const Tensor shared = x;
  x += float64_tensor({10, 20}, {2});
  x -= 1;
  x *= float64_tensor({2, 3}, {2, 1});
  EXPECT_EQ(shared.to_vector<double>(), (std::vector<double>{20, 42, 36, 69}));
  x.copy_(ones({2, 2}, {.dtype = float64}));
  EXPECT_EQ(shared.to_vector<double>(), (std::vector<double>{1, 1, 1, 1}));
  x.fill_(5);
  EXPECT_EQ(shared.to_vector<double>(), (std::vector<double>{5, 5, 5, 5}));
}

TEST(InPlace, DividesAndKeepsTheGradient) {
  const Tensor a = parameter(float64_tensor({6, 8}, {2})), b = parameter(float64_tensor({2, 4}, {2}));
  Tensor x = a * 1.0;
  x /= 2;
  x /= b;  // the gradient of b needs the quotient
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1.5, 1}));
  sum(x).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{0.25, 0.125}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{-0.75, -0.25}));
  Tensor y = parameter(float64_tensor({3, 5}, {2})) * 1.0;
  y /= Arg(y);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_THAT(message_of([] {
                Tensor n = int64_tensor({1}, {1});
                n /= 2;
              }),
              ::testing::StartsWith("[/=]"));
}

TEST(InPlace, ReadsASourceOfTheSameStorageBeforeItWrites) {
  constexpr std::size_t rows = 1000;  // more than a kernel reads at once
  Tensor x = arange(1, 1001, 1, {.dtype = float64}).reshape({1000, 1});
  std::vector<double> expected = values(x);
  x += x.slice(0, 1);
  for (double& value : expected) value += 1;
  EXPECT_EQ(x.to_vector<double>(), expected);
  Tensor tail = x.slice(1, 1000);
  tail += x.slice(0, 999);
  for (std::size_t i = rows - 1; i > 0; --i) expected[i] += expected[i - 1];
  EXPECT_EQ(x.to_vector<double>(), expected);
  x.slice(1, 1000).copy_(x.slice(0, 999));
  for (std::size_t i = rows - 1; i > 0; --i) expected[i] = expected[i - 1];
  EXPECT_EQ(x.to_vector<double>(), expected);
  x *= x;
  for (double& value : expected) value *= value;
  EXPECT_EQ(x.to_vector<double>(), expected);
  x.copy_(x);
  EXPECT_EQ(x.to_vector<double>(), expected);
}

TEST(InPlace, RefusesWhatDoesNotFitAtTheCall) {
  Tensor x = zeros({3}), nothing;
  EXPECT_EQ(message_of([&] {
              x += zeros({2, 3});
            }),
            "[+=] shapes do not broadcast: x (3), y (2, 3); from the last axis on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { x *= zeros({3}, {.dtype = float64}); }),
            "[*=] types differ: x float32 (3), y float64 (3); y.to(ag::float32) converts y");
  EXPECT_EQ(message_of([&] { x.copy_(zeros({1})); }),
            "[copy_] shapes differ: target (3), source (1); both are to have one shape");
  EXPECT_EQ(message_of([&] { x.copy_(zeros({3}, {.dtype = int64})); }),
            "[copy_] types differ: target float32 (3), source int64 (3); source.to(ag::float32) converts source");
  EXPECT_EQ(message_of([&] { zeros({2}, {.dtype = int64}).fill_(0.5); }),
            "[fill_] int64 cannot hold 0.5; float32 does");
  EXPECT_EQ(message_of([&] { nothing += 1; }),
            "[+=] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { x -= nothing; }),
            "[-=] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { nothing.fill_(1); }),
            "[fill_] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { x.copy_(nothing); }),
            "[copy_] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
