#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

struct Extents {
  std::int64_t outer, axis, inner;

  Shape whole() const { return {outer, axis, inner}; }
  Shape reduced() const { return {outer, inner}; }
  ReduceAttributes attributes(double scale = 1, bool of_squares = false) const {
    return {outer, axis, inner, scale, of_squares};
  }
  std::size_t at(std::int64_t line, std::int64_t i) const {
    return static_cast<std::size_t>((line / inner * axis + i) * inner + line % inner);
  }
  std::int64_t lines() const { return outer * inner; }
};

const std::vector<Extents> all_extents = {
    {1, 1, 1},      {1, 7, 1},    {5, 16, 1},    {5, 17, 1},     {3, 64, 1},    {3, 100, 1},  {2, 5000, 1},
    {700, 130, 1},  {9, 3, 1},    {9, 31, 1},    {9, 33, 1},     {9, 63, 1},    {9, 65, 1},   {7, 250, 1},
    {1, 200000, 1}, {1, 9, 3},    {1, 1000, 10}, {1, 1024, 600}, {4, 130, 5},   {3, 2, 1000}, {0, 3, 2},
    {2, 3, 0},      {1, 1, 700},  {700, 1, 1},   {7, 1, 3},      {11, 2, 1},    {6, 40, 1},   {3, 299, 1},
    {1, 5000, 33},  {3, 4100, 1}, {40, 17, 1},   {37, 33, 1},    {35, 64, 1},   {50, 8, 1},   {100, 3, 1},
    {1, 30, 217},   {1, 3001, 3}, {2, 1000, 7},  {1, 300, 15},   {1, 300, 259}, {37, 2, 1},   {45, 4, 1},
};

template <class T>
std::vector<T> reduce(Op op, const Extents& extents, const std::vector<T>& in, double scale = 1,
                      bool of_squares = false) {
  const Array out(extents.reduced(), dtype_of<T>), x(extents.whole(), in);
  run_kernel(op, {written(out), read(x)}, extents.attributes(scale, of_squares));
  return out.values<T>();
}

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

// The sum of a row of at most 64 elements, in the order that rows-inl.h says: 64 running sums, folded in halves.
template <class T>
T sum_in_halves(const std::vector<T>& row, bool of_squares) {
  std::vector<T> running(64, T{0});
  for (std::size_t i = 0; i < row.size(); ++i) running[i] += of_squares ? row[i] * row[i] : row[i];
  for (std::size_t width = 32; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) running[i] += running[i + width];
  }
  return running[0];
}

// Kernels fold many short rows at once, and a single one alone.
template <class T>
void check_rows_alone(Op op, bool of_squares) {
  constexpr std::int64_t rows = 37;
  for (const std::int64_t n : {1, 2, 3, 8, 15, 16, 17, 32, 33, 48, 63, 64, 65, 100}) {
    SCOPED_TRACE(n);
    std::vector<T> in = random_values<T>(rows * n, 3, -10, 10);
    for (std::size_t i = 0; i < in.size(); i += 3) in[i] = i % 2 == 0 ? T{0} : -T{0};  // zeros of both signs
    const std::vector<T> together = reduce(op, {rows, n, 1}, in, 1, of_squares);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::vector<T> alone(in.begin() + row * n, in.begin() + (row + 1) * n);
      const T expected = reduce(op, {1, n, 1}, alone, 1, of_squares)[0],
              value = together[static_cast<std::size_t>(row)];
      ASSERT_EQ(value, expected) << "row " << row;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << "row " << row;
      if (op == Op::sum && n > 16 && n <= 64) {
        ASSERT_EQ(value, sum_in_halves(alone, of_squares)) << "row " << row;
      }
    }
  }
}
TEST(Reduce, ShortRowsHaveTheBitsOfARowAlone) {
  for (const Op op : {Op::sum, Op::max, Op::min}) {
    check_rows_alone<float>(op, false);
    check_rows_alone<double>(op, false);
  }
  check_rows_alone<float>(Op::sum, true);
}

// Kernels go through narrow columns by whole vectors.
template <class T>
void check_narrow_columns(Op op, bool of_squares) {
  constexpr std::int64_t wide = 40;
  for (const std::int64_t rows : {7, 8, 20, 128, 129, 1003}) {
    std::vector<T> in = random_values<T>(rows * wide, 4, -10, 10);
    for (std::size_t i = 0; i < in.size(); i += 3) in[i] = i % 2 == 0 ? T{0} : -T{0};  // zeros of both signs
    in[in.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> expected = reduce(op, {1, rows, wide}, in, 1, of_squares);
    for (const std::int64_t columns : {1, 2, 3, 7, 8, 15}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
      std::vector<T> narrow;
      for (auto row = in.begin(); row != in.end(); row += wide) narrow.insert(narrow.end(), row, row + columns);
      const std::vector<T> values = reduce(op, {1, rows, columns}, narrow, 1, of_squares);
      for (std::size_t j = columns == 1 ? 1 : 0; j < values.size(); ++j) {  // a single column is a row
        ASSERT_TRUE(values[j] == expected[j] || (std::isnan(values[j]) && std::isnan(expected[j]))) << "column " << j;
        ASSERT_EQ(std::signbit(values[j]), std::signbit(expected[j])) << "column " << j;
      }
    }
  }
}
TEST(Reduce, NarrowColumnsHaveTheBitsOfWideOnes) {
  for (const Op op : {Op::sum, Op::max, Op::min}) {
    check_narrow_columns<float>(op, false);
    check_narrow_columns<double>(op, false);
  }
  check_narrow_columns<float>(Op::sum, true);
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
    ReduceAttributes attributes = e.attributes(1.0 / 3, of_squares);
    const std::int64_t blocks = divided_up(e.axis, summed_block(attributes));
    const Array x(e.whole(), in), out(e.reduced(), dtype_of<T>),
        parts({e.outer, blocks, e.inner}, std::is_integral_v<T> ? int64 : float64);
    run_kernel(Op::sum_parts, {written(parts), read(x)}, attributes);
    attributes.axis = blocks;
    run_kernel(Op::sum_of_parts, {written(out), read(parts)}, attributes);
    EXPECT_EQ(out.values<T>(), reduce(Op::sum, e, in, 1.0 / 3, of_squares));
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

template <class T>
std::int64_t first_extreme(bool largest, const std::vector<T>& in, const Extents& e, std::int64_t line) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < e.axis; ++i) {
    const T x = in[e.at(line, i)], y = in[e.at(line, best)];
    if ((largest ? x > y : x < y) || (x != x && y == y)) best = i;
  }
  return best;
}

template <class T>
void check_extreme(bool largest, bool with_nan) {
  for (const Extents& e : all_extents) {
    SCOPED_TRACE(e.whole().str());
    std::vector<T> in = random_values<T>(e.whole().numel(), 2, -5, 5);
    if (with_nan && !in.empty()) in[in.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> out = reduce(largest ? Op::max : Op::min, e, in);
    const Array places(e.reduced(), int64), x(e.whole(), in);
    run_kernel(largest ? Op::argmax : Op::argmin, {written(places), read(x)}, e.attributes());
    const std::vector<std::int64_t> found = places.values<std::int64_t>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const std::int64_t best = first_extreme(largest, in, e, line);
      ASSERT_EQ(found[static_cast<std::size_t>(line)], best);
      ASSERT_TRUE(is_close(out[static_cast<std::size_t>(line)], in[e.at(line, best)], 0));
    }
  }
}

TEST(Max, IsTheLargestAndArgmaxTheFirstOfThemAsAreMinAndArgmin) {
  for (const bool largest : {true, false}) {
    check_extreme<float>(largest, false);
    check_extreme<double>(largest, false);
    check_extreme<std::int64_t>(largest, false);
  }
}

// Factors near 1 or -1, so that nothing overflows, and some that are 0.
template <class T>
std::vector<T> random_factors(std::int64_t count) {
  std::vector<T> factors = random_values<T>(count, 6, 0.99, 1.01);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if constexpr (std::is_integral_v<T>) factors[i] = static_cast<T>(i % 5 + 1);
    if (i % 3 == 1) factors[i] = -factors[i];
    if (i % 997 == 5) factors[i] = 0;
  }
  return factors;
}

// The product of the elements of a line but one; of all for -1.
template <class T, class Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double>>
Wide product_of_others(const Extents& e, const std::vector<T>& in, std::int64_t line, std::int64_t but) {
  Wide product = 1;
  for (std::int64_t i = 0; i < e.axis; ++i) product *= i == but ? Wide{1} : static_cast<Wide>(in[e.at(line, i)]);
  return product;
}

template <class T>
void check_products() {
  std::vector<Extents> cases = all_extents;
  cases.push_back({2, 0, 3});
  cases.push_back({2, 0, 1});
  for (const Extents& e : cases) {
    SCOPED_TRACE(e.whole().str());
    const std::vector<T> in = random_factors<T>(e.whole().numel()), out = reduce(Op::prod, e, in);
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const T result = out[static_cast<std::size_t>(line)],
              expected = static_cast<T>(product_of_others(e, in, line, -1));
      ASSERT_TRUE(is_close(result, expected, sizeof(T) == 4 ? 1 : static_cast<double>(e.axis),
                           std::abs(static_cast<double>(expected))))
          << result << ", expected " << expected;
    }
  }
}

TEST(Prod, MultipliesInAllShapes) {
  check_products<float>();
  check_products<double>();
  check_products<std::int64_t>();
}

template <class T>
void check_prod_grad() {
  for (const Extents& e : all_extents) {
    if (e.axis > 5000) continue;  // takes the square of it
    SCOPED_TRACE(e.whole().str());
    const std::vector<T> in = random_factors<T>(e.whole().numel()), gradients = random_values<T>(e.lines(), 4);
    const Array dx(e.whole(), dtype_of<T>), x(e.whole(), in), dy(e.reduced(), gradients);
    run_kernel(Op::prod_grad, {written(dx), read(x), read(dy)}, e.attributes());
    const std::vector<T> out = dx.values<T>();
    const std::int64_t step = std::max<std::int64_t>(1, e.axis / 50);
    for (std::int64_t line = 0; line < e.lines(); line += 1 + e.lines() / 100) {
      for (std::int64_t i = 0; i < e.axis; i += i + 200 < e.axis ? step : 1) {
        const auto expected =
            static_cast<T>(product_of_others(e, in, line, i) * gradients[static_cast<std::size_t>(line)]);
        ASSERT_TRUE(is_close(out[e.at(line, i)], expected, sizeof(T) == 4 ? 2 : static_cast<double>(e.axis) + 2,
                             std::abs(static_cast<double>(expected))))
            << out[e.at(line, i)] << ", expected " << expected;
      }
    }
  }
}

TEST(ProdGrad, IsTheProductOfTheOthers) {
  check_prod_grad<float>();
  check_prod_grad<double>();
}

// Lines that are long, short, and columns: the products before and behind an element leave the range of float32, and
// their product does not.
TEST(ProdGrad, IsExactWhereProductsLeaveTheRangeOfFloat32) {
  for (const Extents& e : {Extents{1, 8, 1}, Extents{1, 8, 2}, Extents{1, 8000, 1}, Extents{1, 8000, 300}}) {
    SCOPED_TRACE(e.whole().str());
    std::vector<float> in(static_cast<std::size_t>(e.whole().numel()), 1.0F);
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      for (const std::int64_t i : {1, 2}) in[e.at(line, i)] = 0x1p-100F;
      for (const std::int64_t i : {5, 6}) in[e.at(line, i)] = 0x1p100F;
    }
    const Array dx(e.whole(), float32), x(e.whole(), in), dy(e.reduced(), std::vector<float>(e.lines(), 3.0F));
    run_kernel(Op::prod_grad, {written(dx), read(x), read(dy)}, e.attributes());
    const std::vector<float> out = dx.values<float>();
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 3.0F / in[i]) << "at " << i;
  }
}

TEST(ProdGrad, IsExactWithZeros) {
  for (const Extents& e : {Extents{2, 8, 1}, Extents{1, 8, 2}, Extents{2, 8000, 1}, Extents{1, 8000, 300}}) {
    for (const std::int64_t zeros : {1, 2}) {
      SCOPED_TRACE(e.whole().str());
      std::vector<float> in(static_cast<std::size_t>(e.whole().numel()), 1.0F);
      for (std::int64_t line = 0; line < e.lines(); ++line) {
        in[e.at(line, 1)] = 2.0F;
        for (std::int64_t zero = 0; zero < zeros; ++zero) in[e.at(line, e.axis - 1 - 3 * zero)] = 0;
      }
      const Array dx(e.whole(), float32), x(e.whole(), in), dy(e.reduced(), std::vector<float>(e.lines(), 3.0F));
      run_kernel(Op::prod_grad, {written(dx), read(x), read(dy)}, e.attributes());
      const std::vector<float> out = dx.values<float>();
      for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], zeros == 1 && in[i] == 0 ? 6.0F : 0.0F);
    }
  }
}

TEST(Max, OfNanIsNan) {
  for (const bool largest : {true, false}) {
    check_extreme<float>(largest, true);
    check_extreme<double>(largest, true);
  }
}

TEST(Max, OfInfinitiesIsAnInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : {5, 100}) {
    const auto count = static_cast<std::size_t>(n);
    EXPECT_EQ(reduce(Op::max, {1, n, 1}, std::vector<float>(count, -infinity))[0], -infinity);
    EXPECT_EQ(reduce(Op::min, {1, n, 1}, std::vector<float>(count, infinity))[0], infinity);
  }
}

template <class T>
void check_cumsum(bool from_end) {
  for (const Extents& e : all_extents) {
    SCOPED_TRACE(e.whole().str());
    const std::vector<T> in = random_values<T>(e.whole().numel(), 5, -10, 10);
    const Array out(e.whole(), dtype_of<T>), x(e.whole(), in);
    run_kernel(Op::cumsum, {written(out), read(x)}, CumsumAttributes{e.outer, e.axis, e.inner, from_end});
    const std::vector<T> sums = out.values<T>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      long double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < e.axis; ++i) {
        const std::size_t at = e.at(line, from_end ? e.axis - 1 - i : i);
        sum += in[at];
        magnitude += std::abs(in[at]);
        // The sums are in double, where each term costs at most half a unit, and float32 is rounded once.
        const double ulps = sizeof(T) == 4 ? 1 : 0.5 * static_cast<double>(i + 1);
        ASSERT_TRUE(is_close(sums[at], static_cast<T>(sum), ulps, static_cast<double>(magnitude)))
            << "at " << at << ": " << sums[at];
      }
    }
  }
}

TEST(Cumsum, AddsFromEitherEnd) {
  for (const bool from_end : {false, true}) {
    check_cumsum<float>(from_end);
    check_cumsum<double>(from_end);
    check_cumsum<std::int64_t>(from_end);
  }
}

template <class T>
void check_max_grad() {
  for (const Extents& e : all_extents) {
    SCOPED_TRACE(e.whole().str());
    std::vector<T> in = random_values<T>(e.whole().numel(), 3, -5, 5);
    for (T& value : in) value = std::round(value);  // so that some are equal
    const std::vector<T> gradients = random_values<T>(e.lines(), 4);
    const Array dx(e.whole(), dtype_of<T>), x(e.whole(), in), dy(e.reduced(), gradients);
    const Array y(e.reduced(), reduce(Op::max, e, in));
    run_kernel(Op::max_grad, {written(dx), read(x), read(y), read(dy)}, e.attributes());
    const std::vector<T> out = dx.values<T>(), largest = y.values<T>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const auto l = static_cast<std::size_t>(line);
      std::int64_t equal = 0;
      for (std::int64_t i = 0; i < e.axis; ++i) equal += in[e.at(line, i)] == largest[l] ? 1 : 0;
      for (std::int64_t i = 0; i < e.axis; ++i) {
        ASSERT_EQ(out[e.at(line, i)], in[e.at(line, i)] == largest[l] ? gradients[l] / static_cast<T>(equal) : T(0));
      }
    }
  }
}

TEST(MaxGrad, IsSharedByEquals) {
  check_max_grad<float>();
  check_max_grad<double>();
}

}  // namespace

}  // namespace asyncgrad::detail
