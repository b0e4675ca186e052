// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/sum_loops.h"

#include <algorithm>
#include <type_traits>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/sum_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/strip_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The type of running sums: unsigned for integers, so that they may wrap around.
template <class T>
using Term = std::conditional_t<std::is_integral_v<T>, Total<T>, T>;

// Returns what an element adds to a sum.
template <bool Squares, class T>
HWY_INLINE Term<T> term(T x) {
  const auto value = static_cast<Term<T>>(x);
  return Squares ? value * value : value;
}

template <bool Squares>
struct SumOfMany {
  using Combine = AddLanes;
  template <class T, std::size_t vectors>
  static HWY_INLINE Lanes<T> vector_of(const ShortRow<T, vectors>& shape, const T* x) {
    Lanes<T> row[vectors];
    shape.load(x, hn::Zero(hn::ScalableTag<T>()), row);
    if constexpr (Squares) {
      for (auto& part : row) part = hn::Mul(part, part);
    }
    return shape.sum_vectors(row);
  }
};

// out[i] = the sum of x[i] alone, without a call for each.
template <bool Squares, class T>
HWY_INLINE void sums_of_one(const T* HWY_RESTRICT x, std::int64_t n, double scale, T* HWY_RESTRICT out) {
  constexpr Term<T> zero{0};  // 0 + -0 is 0
  if (scale == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(zero + term<Squares>(x[i]));
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = scaled<T>(static_cast<Total<T>>(zero + term<Squares>(x[i])), scale);
  }
}

template <bool Squares, class T>
HWY_INLINE T sum_of_integers(const T* x, std::int64_t n) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += term<Squares>(x[i]);
  return static_cast<T>(sum);
}

template <bool Squares, class T>
void sum_rows(const Strip<T>& strip, double scale, T* out) {
  if constexpr (std::is_integral_v<T>) {
    each_row(strip, out, [](const T* x, std::int64_t n) HWY_ATTR { return sum_of_integers<Squares>(x, n); });
  } else if (strip.columns > short_row && strip.columns <= longest_of_many_rows<T>) {
    fold_many_rows<SumOfMany<Squares>>(strip, out);
    for (std::int64_t row = 0; row < strip.rows; ++row) out[row] = scaled<T>(out[row], scale);
  } else if (strip.columns == 1) {
    sums_of_one<Squares>(strip.data, strip.rows, scale, out);
  } else {
    each_row(strip, out,
             [scale](const T* x, std::int64_t n) HWY_ATTR { return scaled<T>(row_sum_of<Squares>(x, x, n), scale); });
  }
}

// Adds what add_eight_rows() does, `rows` of them.
template <bool Squares, class T>
HWY_INLINE void add_narrow_rows(const T* x, std::int64_t stride, std::int64_t rows, T* sums) {
  const hn::ScalableTag<T> d;
  const auto row = [&](const T* from) HWY_ATTR {
    const auto value = hn::LoadU(d, from);
    return Squares ? hn::Mul(value, value) : value;
  };
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < rows; i += 8) {
    sum = hn::Add(sum, eight_rows_in_pairs(x + i * stride, stride, row, AddLanes()));
  }
  hn::StoreU(sum, d, sums);
}

// Adds the terms of the eight elements of column j from x[j] on, in pairs, to sums[j].
template <bool Squares, class T>
HWY_INLINE void add_eight_rows(const T* HWY_RESTRICT x, std::int64_t stride, Term<T>* HWY_RESTRICT sums,
                               std::int64_t columns) {
  const T *const x1 = x + stride, *const x2 = x1 + stride, *const x3 = x2 + stride, *const x4 = x3 + stride,
                 *const x5 = x4 + stride, *const x6 = x5 + stride, *const x7 = x6 + stride;
  for (std::int64_t j = 0; j < columns; ++j) {
    const Term<T> first = (term<Squares>(x[j]) + term<Squares>(x1[j])) + (term<Squares>(x2[j]) + term<Squares>(x3[j]));
    const Term<T> last = (term<Squares>(x4[j]) + term<Squares>(x5[j])) + (term<Squares>(x6[j]) + term<Squares>(x7[j]));
    sums[j] += first + last;
  }
}

// The sums of the first n rows, which are added eight at a time.
template <bool Squares, class T>
HWY_INLINE void sum_block_of_columns(const Strip<T>& strip, std::int64_t n, Term<T>* sums) {
  const std::int64_t columns = strip.columns;
  std::fill_n(sums, columns, Term<T>{0});
  std::int64_t row = 0;
  if constexpr (!std::is_integral_v<T>) {
    row = std::min(rows_of_whole_vectors(strip), n / 8 * 8);
    if (row > 0) {
      prefetch_narrow_rows(strip, 0, row);
      add_narrow_rows<Squares>(strip.data, strip.stride, row, sums);
    }
  }
  for (; row + 8 <= n; row += 8) {
    add_eight_rows<Squares>(strip.data + row * strip.stride, strip.stride, sums, columns);
  }
  for (; row < n; ++row) {
    const T* const x = strip.data + row * strip.stride;
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += term<Squares>(x[j]);
  }
}

// Blocks of rows are added in the type of the elements, and their sums in double.
template <bool Squares, class T>
void sum_columns(const Strip<T>& strip, double scale, T* out) {
  if (strip.rows == 1) return sums_of_one<Squares>(strip.data, strip.columns, scale, out);
  HWY_ALIGN Term<T> sums[strip_columns];
  HWY_ALIGN Total<T> totals[strip_columns] = {};
  for (std::int64_t row = 0; row < strip.rows; row += summed_in_column) {
    const Strip<T> rest{strip.data + row * strip.stride, strip.rows - row, strip.columns, strip.stride};
    sum_block_of_columns<Squares>(rest, std::min(rest.rows, summed_in_column), sums);
    for (std::int64_t j = 0; j < strip.columns; ++j) totals[j] += static_cast<Total<T>>(sums[j]);
  }
  for (std::int64_t j = 0; j < strip.columns; ++j) out[j] = scaled<T>(totals[j], scale);
}

template <bool Squares, class T>
void sum_column_block(const Strip<T>& strip, std::int64_t rows, Total<T>* parts) {
  HWY_ALIGN Term<T> sums[strip_columns];
  sum_block_of_columns<Squares>(strip, rows, sums);
  for (std::int64_t j = 0; j < strip.columns; ++j) parts[j] = static_cast<Total<T>>(sums[j]);
}
template <bool Squares, class T>
void sum_row_block(const T* x, std::int64_t n, Total<T>* part) {
  if constexpr (std::is_integral_v<T>) {
    *part = sum_of_integers<Squares>(x, n);
  } else {
    *part = block_sum<Squares>(x, x, n);
  }
}

template <bool Squares, class T>
static constexpr SumStripLoops<T> loops_of{sum_rows<Squares, T>, sum_columns<Squares, T>, sum_row_block<Squares, T>,
                                           sum_column_block<Squares, T>};

template <class T>
static constexpr SumLoops<T> functions{.sum = loops_of<false, T>, .sum_of_squares = loops_of<true, T>};
ArithmeticLoops<SumLoops> sum_loops() { return {functions<float>, functions<double>, functions<std::int64_t>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(sum_loops);

const ArithmeticLoops<SumLoops>& sum_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(sum_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
