// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/reduce_loops.h"

#include <type_traits>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/reduce_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/short_row-inl.h"
#include "asyncgrad/backends/cpu/vectors/fold_rows-inl.h"
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The type of running sums: unsigned for integers, so that they may wrap around.
template <class T>
using Term = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
// The type in which sums of blocks are added, and products computed.
template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

template <class T>
HWY_INLINE T scaled(Total<T> total, double scale) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(total);
  } else {
    return static_cast<T>(total * scale);
  }
}

// Returns what an element adds to a sum.
template <bool Squares, class T>
HWY_INLINE Term<T> term(T x) {
  const auto value = static_cast<Term<T>>(x);
  return Squares ? value * value : value;
}

// Rows of fewer elements have no loop that prefetches.
constexpr std::int64_t prefetching_row = 256;

// out[i] = reduce(row i, its number of elements).
template <class T, class Reduce>
HWY_INLINE void each_row(const Strip<T>& strip, T* out, Reduce reduce) {
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    const T* const x = strip.data + row * strip.stride;
    if (strip.columns < prefetching_row) prefetch(x + prefetched_ahead, strip.columns);
    out[row] = reduce(x, strip.columns);
  }
}

// The most vectors of rows that are folded many at a time: each of them has a running result of its own.
template <class T>
constexpr std::size_t many_rows_vectors = std::min<std::size_t>(running_vectors<T>, 8);
template <class T>
constexpr std::int64_t longest_of_many_rows = static_cast<std::int64_t>(many_rows_vectors<T>) * lanes_of<T>;

// out[i] = the fold of row i, with the bits of a row that is folded alone. Rows have at least `vectors` vectors.
template <class RowsReducer, std::size_t vectors = 1, class T>
void fold_many_rows(const Strip<T>& strip, T* out) {
  if constexpr (vectors < many_rows_vectors<T>) {
    if (strip.columns > static_cast<std::int64_t>(vectors) * lanes_of<T>) {
      return fold_many_rows<RowsReducer, vectors + 1>(strip, out);
    }
  }
  const ShortRow<T, vectors> shape(strip.columns);
  const auto vector_of = [&](std::int64_t row) HWY_ATTR {
    const T* const x = strip.data + row * strip.stride;
    prefetch(x + prefetched_ahead, strip.columns);
    return RowsReducer::vector_of(shape, x);
  };
  fold_rows(strip.rows, vector_of, typename RowsReducer::Combine(), out);
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

// The rows of fewer columns than a vector has lanes that can be read by whole vectors: those after which the strip has
// memory for the other lanes, whose results nobody wants. A multiple of eight rows.
template <class T>
HWY_INLINE std::int64_t rows_of_whole_vectors(const Strip<T>& strip) {
  const std::int64_t elements = (strip.rows - 1) * strip.stride + strip.columns;
  if (strip.columns >= lanes_of<T> || elements < lanes_of<T>) return 0;
  return ((elements - lanes_of<T>) / strip.stride + 1) / 8 * 8;
}

// Rows that lie one behind the other.
template <class T>
HWY_INLINE void prefetch_narrow_rows(const Strip<T>& strip, std::int64_t begin, std::int64_t end) {
  if (strip.stride > strip.columns) return;
  prefetch(strip.data + begin * strip.stride + prefetched_ahead, (end - begin) * strip.stride);
}

// combine(later, earlier), of the rows x, x + stride, … in pairs, each a vector.
template <class T, class Row, class Combine>
HWY_INLINE Lanes<T> eight_rows_in_pairs(const T* x, std::int64_t stride, Row row, Combine combine) {
  const auto pair = [&](const T* first) HWY_ATTR { return combine(row(first + stride), row(first)); };
  const auto four = [&](const T* first) HWY_ATTR { return combine(pair(first + 2 * stride), pair(first)); };
  return combine(four(x + 4 * stride), four(x));
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
void sum_column_block(const Strip<T>& strip, std::int64_t rows, typename SumLoops<T>::Part* parts) {
  HWY_ALIGN Term<T> sums[strip_columns];
  sum_block_of_columns<Squares>(strip, rows, sums);
  for (std::int64_t j = 0; j < strip.columns; ++j) parts[j] = static_cast<typename SumLoops<T>::Part>(sums[j]);
}
template <bool Squares, class T>
void sum_row_block(const T* x, std::int64_t n, typename SumLoops<T>::Part* part) {
  if constexpr (std::is_integral_v<T>) {
    *part = sum_of_integers<Squares>(x, n);
  } else {
    *part = block_sum<Squares>(x, x, n);
  }
}

template <bool Squares, class T>
constexpr SumLoops<T> sum_loops{sum_rows<Squares, T>, sum_columns<Squares, T>, sum_row_block<Squares, T>,
                                sum_column_block<Squares, T>};

// The products of `count` neighbouring rows of n elements, element by element.
template <std::int64_t count, class T>
HWY_INLINE void multiply_rows(const T* x, std::int64_t n, T* out) {
  Total<T> products[count];
  std::fill_n(products, count, Total<T>{1});
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t row = 0; row < count; ++row) products[row] *= static_cast<Total<T>>(x[row * n + i]);
  }
  for (std::int64_t row = 0; row < count; ++row) out[row] = static_cast<T>(products[row]);
}

// The product of n elements: of `lanes` products side by side, so that they do not wait for each other, folded in
// halves, and of the elements that are left.
template <std::int64_t lanes, class T>
HWY_INLINE Total<T> product(const T* x, std::int64_t n) {
  Total<T> products[lanes], rest{1};
  std::fill_n(products, lanes, Total<T>{1});
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    if constexpr (lanes > 8) prefetch(x + i + prefetched_ahead, 2 * lanes);
    const T* const next = x + i + lanes;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      products[lane] *= static_cast<Total<T>>(x[i + lane]) * static_cast<Total<T>>(next[lane]);
    }
  }
  if (i + lanes <= n) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) products[lane] *= static_cast<Total<T>>(x[i + lane]);
    i += lanes;
  }
  for (; i < n; ++i) rest *= static_cast<Total<T>>(x[i]);
  for (std::int64_t width = lanes / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) products[lane] *= products[lane + width];
  }
  return products[0] * rest;
}

template <class T>
void prod_rows(const Strip<T>& strip, T* out) {
  const std::int64_t n = strip.columns;
  if (n <= short_row) {
    std::int64_t row = 0;
    for (; row + 4 <= strip.rows; row += 4) multiply_rows<4>(strip.data + row * n, n, out + row);
    for (; row < strip.rows; ++row) multiply_rows<1>(strip.data + row * n, n, out + row);
    return;
  }
  const std::int64_t by_32 = n < prefetching_row ? 0 : n / 32 * 32;  // the elements that 32 products take
  each_row(strip, out, [by_32](const T* x, std::int64_t count) HWY_ATTR {
    const Total<T> rest = product<8>(x + by_32, count - by_32);
    return static_cast<T>(by_32 == 0 ? rest : product<32>(x, by_32) * rest);
  });
}

// Four rows of the strip's columns, unless these are few.
template <class T>
HWY_INLINE void prefetch_rows(const T* x, const Strip<T>& strip) {
  if (strip.columns < 16) return;
  for (int row = 0; row < 4; ++row) prefetch(x + row * strip.stride, strip.columns);
}

template <class T>
void prod_columns(const Strip<T>& strip, T* out) {
  HWY_ALIGN Total<T> products[strip_columns];
  std::fill_n(products, strip.columns, Total<T>{1});
  std::int64_t row = 0;
  for (; row + 4 <= strip.rows; row += 4) {  // so that products are read and written once for four
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    const T *const x1 = x + strip.stride, *const x2 = x1 + strip.stride, *const x3 = x2 + strip.stride;
    prefetch_rows(x + 16 * strip.stride, strip);
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      products[j] *= (static_cast<Total<T>>(x[j]) * static_cast<Total<T>>(x1[j])) *
                     (static_cast<Total<T>>(x2[j]) * static_cast<Total<T>>(x3[j]));
    }
  }
  for (; row < strip.rows; ++row) {
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    for (std::int64_t j = 0; j < strip.columns; ++j) products[j] *= static_cast<Total<T>>(x[j]);
  }
  for (std::int64_t j = 0; j < strip.columns; ++j) out[j] = static_cast<T>(products[j]);
}

template <bool Largest>
struct ExtremeOfMany {
  using Combine = Extreme<Largest>;
  template <class T, std::size_t vectors>
  static HWY_INLINE Lanes<T> vector_of(const ShortRow<T, vectors>& shape, const T* x) {
    const auto first = hn::Set(hn::ScalableTag<T>(), x[0]);
    Lanes<T> row[vectors];
    shape.load(x, first, row);
    if constexpr (vectors == 1) return row[0];
    Running<T> running;
    for (std::size_t v = 0; v < running_vectors<T>; ++v) {
      running[v] = v < vectors ? Combine()(row[std::min(v, vectors - 1)], first) : first;
    }
    return detail::HWY_NAMESPACE::fold_vectors<T>(running, Combine());
  }
};

template <bool Largest, class T>
void extreme_rows(const Strip<T>& strip, T* out) {
  if (strip.columns <= longest_of_many_rows<T>) return fold_many_rows<ExtremeOfMany<Largest>>(strip, out);
  each_row(strip, out, [](const T* x, std::int64_t n) HWY_ATTR { return row_extreme<Largest>(x, n); });
}

// The extremes of the first `rows` rows, at least eight. Of equal elements the first counts, and of NaN the last, however
// rows are combined.
template <bool Largest, class T>
HWY_INLINE void extremes_of_narrow_rows(const Strip<T>& strip, std::int64_t rows, T* out) {
  const hn::ScalableTag<T> d;
  const auto row = [&](const T* from) HWY_ATTR { return hn::LoadU(d, from); };
  const auto eight = [&](std::int64_t first) HWY_ATTR {
    return eight_rows_in_pairs(strip.data + first * strip.stride, strip.stride, row, Extreme<Largest>());
  };
  auto extreme = eight(0);
  for (std::int64_t i = 8; i < rows; i += 8) {
    prefetch_narrow_rows(strip, i, i + 8);
    extreme = Extreme<Largest>()(eight(i), extreme);
  }
  HWY_ALIGN T extremes[VectorMath<T>::lanes];
  hn::Store(extreme, d, extremes);
  std::copy_n(extremes, strip.columns, out);
}

template <bool Largest, class T>
void extreme_columns(const Strip<T>& strip, T* HWY_RESTRICT out) {
  const auto further = [](T x, T y) { return Extreme<Largest>::of(x, y); };
  std::int64_t row = rows_of_whole_vectors(strip);
  if (row > 0) {
    extremes_of_narrow_rows<Largest>(strip, row, out);
  } else {
    std::copy_n(strip.data, strip.columns, out);
    row = 1;
  }
  for (; row + 4 <= strip.rows; row += 4) {  // so that results are read and written once for four
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    const T *const x1 = x + strip.stride, *const x2 = x1 + strip.stride, *const x3 = x2 + strip.stride;
    prefetch_rows(x + 16 * strip.stride, strip);
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      out[j] = further(x3[j], further(x2[j], further(x1[j], further(x[j], out[j]))));
    }
  }
  for (; row < strip.rows; ++row) {
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    for (std::int64_t j = 0; j < strip.columns; ++j) out[j] = further(x[j], out[j]);
  }
}

template <class T>
constexpr ReduceLoops<T> functions{.sum = sum_loops<false, T>,
                                   .sum_of_squares = sum_loops<true, T>,
                                   .prod = {prod_rows<T>, prod_columns<T>},
                                   .max = {extreme_rows<true, T>, extreme_columns<true, T>},
                                   .min = {extreme_rows<false, T>, extreme_columns<false, T>}};
ArithmeticLoops<ReduceLoops> reduce_loops() { return {functions<float>, functions<double>, functions<std::int64_t>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(reduce_loops);

const ArithmeticLoops<ReduceLoops>& reduce_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(reduce_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
