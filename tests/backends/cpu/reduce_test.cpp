#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tests/backends/cpu/reduced_extents.h"

namespace asyncgrad::detail {

namespace {

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
    for (const std::int64_t columns : {2, 3, 7, 8, 15}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
      std::vector<T> narrow;
      for (auto row = in.begin(); row != in.end(); row += wide) narrow.insert(narrow.end(), row, row + columns);
      const std::vector<T> values = reduce(op, {1, rows, columns}, narrow, 1, of_squares);
      for (std::size_t j = 0; j < values.size(); ++j) {
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
    const std::vector<T> in = random_factors<T>(e.whole().numel()), out = reduce(Op::prod, e, in),
                         of_parts = in.empty() ? out : reduce_in_parts(Op::prod_parts, Op::prod_of_parts, e, in);
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const auto expected = static_cast<T>(product_of_others(e, in, line, -1));
      for (const T result : {out[static_cast<std::size_t>(line)], of_parts[static_cast<std::size_t>(line)]}) {
        ASSERT_TRUE(is_close(result, expected, sizeof(T) == 4 ? 1 : static_cast<double>(e.axis),
                             std::abs(static_cast<double>(expected))))
            << result << ", expected " << expected;
      }
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

}  // namespace

}  // namespace asyncgrad::detail
