#include <cmath>

#include "tests/backends/cpu/reduced_extents.h"

namespace asyncgrad::detail {

namespace {

template <class T>
void check_sums(double scale, bool of_squares = false) {
  std::vector<Extents> cases = all_extents;
  cases.push_back({2, 0, 3});
  cases.push_back({2, 0, 1});
  for (const Extents& e : cases) {
    SCOPED_TRACE(e.whole().str());
    const std::vector<T> in = random_values<T>(e.whole().numel(), 1, -10, 10);
    const std::vector<T> out = reduce(Op::sum, e, in, scale, of_squares);
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      long double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < e.axis; ++i) {
        const long double element = in[e.at(line, i)], added = of_squares ? element * element : element;
        sum += added;
        magnitude += std::abs(added);
      }
      const auto expected = static_cast<T>(sum * scale);
      // Rounding errors are nearly random and cancel, so that the sum's error is small beside the sum of all
      // magnitudes.
      ASSERT_TRUE(is_close(out[static_cast<std::size_t>(line)], expected, 2, static_cast<double>(magnitude * scale)))
          << out[static_cast<std::size_t>(line)] << ", expected " << expected;
    }
  }
}

TEST(Sum, AddsAlongAnyAxis) {
  check_sums<float>(1);
  check_sums<double>(1);
  check_sums<std::int64_t>(1);
  check_sums<float>(1.0 / 1024);
  check_sums<double>(0.1);
}

TEST(Sum, OfSquaresAddsAlongAnyAxis) {
  check_sums<float>(1, true);
  check_sums<double>(0.1, true);
}

template <class T>
void check_counts(double scale) {
  std::vector<Extents> cases = all_extents;
  for (const Extents& e : {Extents{2, 0, 3}, Extents{2, 0, 1}, Extents{1, 140000, 3}, Extents{2, 600, 129}}) {
    cases.push_back(e);
  }
  for (const Extents& e : cases) {
    SCOPED_TRACE(e.whole().str());
    std::vector<std::uint8_t> in;
    for (const float x : random_values<float>(e.whole().numel(), 5, -1, 9)) in.push_back(x > 0 ? 1 : 0);
    const Array out(e.reduced(), dtype_of<T>), x(e.whole(), boolean);
    if (!in.empty()) std::memcpy(written(x).data, in.data(), in.size());
    run_kernel(Op::sum, {written(out), read(x)}, e.attributes(scale));
    const std::vector<T> sums = out.template values<T>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      double count = 0;
      for (std::int64_t i = 0; i < e.axis; ++i) count += in[e.at(line, i)];
      ASSERT_EQ(sums[static_cast<std::size_t>(line)], static_cast<T>(count * scale)) << "line " << line;
    }
  }
}
TEST(Sum, OfBooleansCountsThem) {
  check_counts<std::int64_t>(1);
  check_counts<float>(1.0 / 3);
  check_counts<double>(0.1);
}

TEST(Sum, StaysAccurateOverLongAxes) {
  constexpr std::int64_t n = 1 << 24;  // where adding 0.1 one by one has lost every digit
  const std::vector<float> in(n, 0.1F);
  const double expected = static_cast<double>(0.1F) * n;
  EXPECT_NEAR(reduce(Op::sum, {1, n, 1}, in)[0] / expected, 1, 1e-6);
  for (const float sum : reduce(Op::sum, {1, n / 4, 4}, in)) EXPECT_NEAR(4 * sum / expected, 1, 2e-6);
}

TEST(Sum, OfIntegersWrapsAround) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reduce<std::int64_t>(Op::sum, {1, 2, 1}, {most, 1})[0], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reduce<std::int64_t>(Op::sum, {1, 2, 2}, {most, 5, 1, 6}), (std::vector<std::int64_t>{-most - 1, 11}));
}

// Few long lines are summed in two operations.
template <class T>
void check_parts(bool of_squares) {
  for (const Extents& e : {Extents{1, 70001, 1}, Extents{2, 4097, 1}, Extents{1, 4100, 3}, Extents{3, 129, 300},
                           Extents{2, 1000, 15}, Extents{1, 1, 5}}) {
    SCOPED_TRACE(e.whole().str());
    const std::vector<T> in = random_values<T>(e.whole().numel(), 6, -10, 10);
    EXPECT_EQ(reduce_in_parts(Op::sum_parts, Op::sum_of_parts, e, in, 1.0 / 3, of_squares),
              reduce(Op::sum, e, in, 1.0 / 3, of_squares));
  }
}
TEST(Sum, OfPartsHasTheBitsOfTheWhole) {
  check_parts<float>(false);
  check_parts<float>(true);
  check_parts<double>(false);
  check_parts<std::int64_t>(false);
}
TEST(Sum, OfFewLongLinesIsCutIntoTiles) {
  const Array x(Shape{300000}, float32), parts(Shape{1, 74, 1}, float64);
  EXPECT_EQ(run_kernel(Op::sum_parts, {written(parts), read(x)}, ReduceAttributes{1, 300000, 1}), 5);
  EXPECT_TRUE(are_few_long_lines({1, 300000, 1}) && are_few_long_lines({1, 300000, 3}));
  EXPECT_FALSE(are_few_long_lines({1, 200000, 1}) || are_few_long_lines({8, 300000, 1}));
}

TEST(Sum, IsCutIntoTiles) {
  const Array x(Shape{1024, 2048}, float32), columns(Shape{2048}, float32), rows(Shape{1024}, float32);
  EXPECT_EQ(run_kernel(Op::sum, {written(columns), read(x)}, ReduceAttributes{1, 1024, 2048}), 8);
  EXPECT_EQ(run_kernel(Op::sum, {written(rows), read(x)}, ReduceAttributes{1024, 2048, 1}), 32);
}

}  // namespace

}  // namespace asyncgrad::detail
