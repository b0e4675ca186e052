// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/prod_loops.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/prod_loops.cpp"
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

template <class T>
static constexpr ProdLoops<T> functions{
    .whole = {prod_rows<T>, prod_columns<T>}, .row_block = prod_row_block<T>, .column_block = prod_column_block<T>};
ArithmeticLoops<ProdLoops> prod_loops() { return {functions<float>, functions<double>, functions<std::int64_t>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(prod_loops);

const ArithmeticLoops<ProdLoops>& prod_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(prod_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
