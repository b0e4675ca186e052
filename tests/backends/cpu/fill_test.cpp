#include <cmath>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

Number floating(double value) { return {.floating = value}; }
Number integer(std::int64_t value) {
  Number number{};
  number.integer = value;
  return number;
}

template <class T>
std::vector<T> fill(std::int64_t n, Number value) {
  const Array out(n, dtype_of<T>);
  run_kernel(Op::fill, {written(out)}, FillAttributes{value});
  return out.values<T>();
}

TEST(Fill, WritesEveryElement) {
  const auto large = std::int64_t{1} << 60 | 1;
  for (const std::int64_t n : {0, 1, 17, 70001, 200000}) {
    const auto count = static_cast<std::size_t>(n);
    EXPECT_EQ(fill<float>(n, floating(0.1)), std::vector<float>(count, 0.1F));
    EXPECT_EQ(fill<double>(n, floating(0.1)), std::vector<double>(count, 0.1));
    EXPECT_EQ(fill<std::int64_t>(n, integer(large)), std::vector<std::int64_t>(count, large));
  }
}

TEST(Arange, GoesOnByItsStep) {
  const Array x(Shape{100000}, float32), y(Shape{100000}, float64), z(Shape{100000}, int64);
  run_kernel(Op::arange, {written(x)}, ArangeAttributes{floating(-1), floating(0.1)});
  run_kernel(Op::arange, {written(y)}, ArangeAttributes{floating(-1), floating(0.1)});
  run_kernel(Op::arange, {written(z)}, ArangeAttributes{integer(std::int64_t{1} << 60), integer(-3)});
  const auto floats = x.values<float>();
  const auto doubles = y.values<double>();
  const auto integers = z.values<std::int64_t>();
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const double expected = -1 + static_cast<double>(i) * 0.1;
    ASSERT_EQ(floats[i], static_cast<float>(expected));
    ASSERT_EQ(doubles[i], expected);
    ASSERT_EQ(integers[i], (std::int64_t{1} << 60) - 3 * static_cast<std::int64_t>(i));
  }
}

template <class To, class From>
std::vector<To> copy(const std::vector<From>& in) {
  const auto n = static_cast<std::int64_t>(in.size());
  const Array out(n, dtype_of<To>), x(n, in);
  run_kernel(Op::copy, {written(out), read(x)}, 0);
  return out.values<To>();
}

TEST(Copy, ConvertsBetweenTypes) {
  const std::vector<double> in = random_values<double>(70001, 1, -1e6, 1e6);
  EXPECT_EQ(copy<double>(in), in);
  EXPECT_EQ(copy<float>(in), std::vector<float>(in.begin(), in.end()));
  EXPECT_EQ(copy<std::int64_t>(in), std::vector<std::int64_t>(in.begin(), in.end()));
  const std::vector<std::int64_t> integers = random_values<std::int64_t>(1000, 2, -1e9, 1e9);
  EXPECT_EQ(copy<float>(integers), std::vector<float>(integers.begin(), integers.end()));
  EXPECT_EQ(copy<double>(integers), std::vector<double>(integers.begin(), integers.end()));
  EXPECT_EQ(copy<float>(std::vector<float>{}), std::vector<float>{});
}

TEST(Copy, ToIntegersGivesTheNearestThatThereIs) {
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(copy<std::int64_t>(std::vector<float>{1.9F, -1.9F, 1e30F, -INFINITY, NAN}),
            (std::vector<std::int64_t>{1, -1, Limits::max(), Limits::min(), 0}));
}

// Each number stands between others that need nothing special, because several are converted at a time.
template <class To, class From>
void expect_nearest(From in, To expected) {
  std::vector<From> numbers(100, From{7});
  std::vector<To> nearest(100, To{7});
  for (const std::size_t i : {3, 40, 99}) {
    numbers[i] = in;
    nearest[i] = expected;
  }
  EXPECT_EQ(copy<To>(numbers), nearest) << in;
}
template <class To, class From>
void expect_nearest_of_type() {
  using Limits = std::numeric_limits<To>;
  expect_nearest<To>(From{1e30F}, Limits::max());
  expect_nearest<To>(From{-1e30F}, Limits::min());
  expect_nearest<To>(std::numeric_limits<From>::infinity(), Limits::max());
  expect_nearest<To>(std::numeric_limits<From>::quiet_NaN(), To{0});
  expect_nearest<To>(static_cast<From>(Limits::min()), Limits::min());
  expect_nearest<To>(From{100.75F}, To{100});
}

TEST(Copy, ToIntegersIsTheSameForManyAtATime) {
  expect_nearest_of_type<std::int64_t, float>();
  expect_nearest_of_type<std::int64_t, double>();
  expect_nearest_of_type<std::int32_t, float>();
  expect_nearest_of_type<std::int32_t, double>();
  expect_nearest_of_type<std::uint8_t, float>();
  expect_nearest_of_type<std::uint8_t, double>();
}

}  // namespace

}  // namespace asyncgrad::detail
