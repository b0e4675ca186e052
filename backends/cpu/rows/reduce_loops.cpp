// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/reduce_loops.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/reduce_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/strip_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

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
HWY_INLINE Total<T> product_of_row(const T* x, std::int64_t n) {
  const std::int64_t by_32 = n < prefetching_row ? 0 : n / 32 * 32;  // the elements that 32 products take
  const Total<T> rest = product<8>(x + by_32, n - by_32);
  return by_32 == 0 ? rest : product<32>(x, by_32) * rest;
}
template <class T>
void prod_row_block(const T* x, std::int64_t n, Total<T>* part) {
  *part = product_of_row(x, n);
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
  each_row(strip, out,
           [](const T* x, std::int64_t count) HWY_ATTR { return static_cast<T>(product_of_row(x, count)); });
}

// Four rows of the strip's columns, unless these are few.
template <class T>
HWY_INLINE void prefetch_rows(const T* x, const Strip<T>& strip) {
  if (strip.columns < 16) return;
  for (int row = 0; row < 4; ++row) prefetch(x + row * strip.stride, strip.columns);
}

template <class T>
void prod_column_block(const Strip<T>& strip, std::int64_t rows, Total<T>* HWY_RESTRICT products) {
  std::fill_n(products, strip.columns, Total<T>{1});
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {  // so that products are read and written once for four
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    const T *const x1 = x + strip.stride, *const x2 = x1 + strip.stride, *const x3 = x2 + strip.stride;
    prefetch_rows(x + 16 * strip.stride, strip);
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      products[j] *= (static_cast<Total<T>>(x[j]) * static_cast<Total<T>>(x1[j])) *
                     (static_cast<Total<T>>(x2[j]) * static_cast<Total<T>>(x3[j]));
    }
  }
  for (; row < rows; ++row) {
    const T* HWY_RESTRICT x = strip.data + row * strip.stride;
    for (std::int64_t j = 0; j < strip.columns; ++j) products[j] *= static_cast<Total<T>>(x[j]);
  }
}

template <class T>
void prod_columns(const Strip<T>& strip, T* out) {
  HWY_ALIGN Total<T> products[strip_columns];
  prod_column_block(strip, strip.rows, products);
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
constexpr ReduceLoops<T> functions{.prod = {prod_rows<T>, prod_columns<T>},
                                   .prod_row_block = prod_row_block<T>,
                                   .prod_column_block = prod_column_block<T>,
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
