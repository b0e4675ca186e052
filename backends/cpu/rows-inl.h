// The parts of reductions along a contiguous row, for each instruction set. Internal.
//
// A sum adds in the same order under every instruction set: 64 running sums over blocks of 4096 elements, folded in
// halves; the sums of blocks are added in double. Thus float32 loses no more than some 70 roundings for any length.
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vector_math-inl.h"

#if defined(ASYNCGRAD_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_ROWS_INL
#undef ASYNCGRAD_ROWS_INL
#else
#define ASYNCGRAD_ROWS_INL
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

inline constexpr std::int64_t running_sums = 64;
inline constexpr std::int64_t block_elements = 4096;
// The longest rows whose elements are summed one by one.
inline constexpr std::int64_t short_row = 16;

// running[j] += x[j] (y[j]); Product tells whether there is a y.
template <bool Product, class T>
HWY_INLINE void add_step(const T* x, const T* y, hn::Vec<hn::ScalableTag<T>>* running) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = VectorMath<T>::lanes;
  for (std::size_t v = 0; v < running_sums / lanes; ++v) {
    auto term = hn::LoadU(d, x + v * lanes);
    if constexpr (Product) term = hn::Mul(term, hn::LoadU(d, y + v * lanes));
    running[v] = hn::Add(running[v], term);
  }
}

template <class T>
HWY_INLINE T folded(T* sums) {
  for (std::int64_t width = running_sums / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  return sums[0];
}

// The sum of x[i] (y[i]) over at most block_elements elements.
template <bool Product, class T>
HWY_INLINE double block_sum(const T* x, const T* y, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = VectorMath<T>::lanes;
  constexpr std::size_t vectors = running_sums / lanes;
  hn::Vec<hn::ScalableTag<T>> running[vectors];
  for (auto& sum : running) sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + running_sums <= n; i += running_sums) add_step<Product>(x + i, y + i, running);
  if (i < n) {
    HWY_ALIGN T last_x[running_sums] = {};
    HWY_ALIGN T last_y[running_sums] = {};
    std::copy_n(x + i, n - i, last_x);
    if constexpr (Product) std::copy_n(y + i, n - i, last_y);
    add_step<Product>(last_x, last_y, running);
  }
  HWY_ALIGN T sums[running_sums];
  for (std::size_t v = 0; v < vectors; ++v) hn::Store(running[v], d, sums + v * lanes);
  return folded(sums);
}

template <bool Product, class T>
HWY_INLINE double row_sum_of(const T* x, const T* y, std::int64_t n) {
  double sum = 0;
  if (n <= short_row) {
    for (std::int64_t i = 0; i < n; ++i) {
      sum += Product ? static_cast<double>(x[i]) * static_cast<double>(y[i]) : static_cast<double>(x[i]);
    }
    return sum;
  }
  for (std::int64_t i = 0; i < n; i += block_elements) {
    sum += block_sum<Product>(x + i, y + i, std::min(block_elements, n - i));
  }
  return sum;
}

template <class T>
double row_sum(const T* x, std::int64_t n) {
  return row_sum_of<false>(x, x, n);
}
template <class T>
double row_dot(const T* x, const T* y, std::int64_t n) {
  return row_sum_of<true>(x, y, n);
}

// The larger of two; NaN if either is NaN.
template <class T>
HWY_INLINE T larger(T x, T y) {
  return ((x > y) | (x != x)) ? x : y;  // NOLINT(misc-redundant-expression): NaN
}

// The maximum of at least one element; NaN if there is one.
template <class T>
T row_max(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = 64;
  T largest = x[0];
  std::int64_t i = 0;
  if (n >= lanes) {
    HWY_ALIGN T running[lanes];
    std::copy_n(x, lanes, running);
    for (i = lanes; i + lanes <= n; i += lanes) {
      for (std::int64_t j = 0; j < lanes; ++j) running[j] = larger(x[i + j], running[j]);
    }
    for (std::int64_t j = 0; j < lanes; ++j) largest = larger(running[j], largest);
  }
  for (; i < n; ++i) largest = larger(x[i], largest);
  return largest;
}

// out[i] = e^(x[i] - shift).
template <class T>
void row_exp(const T* x, T shift, T* out, std::int64_t n) {
  using Math = VectorMath<T>;
  const typename Math::D d;
  constexpr auto lanes = static_cast<std::int64_t>(Math::lanes);
  const auto shifts = hn::Set(d, shift);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Math::call(Is<Primitive::exp>(), hn::Sub(hn::LoadU(d, x + i), shifts)), d, out + i);
  }
  if (i < n) {
    HWY_ALIGN T last[Math::lanes];
    const auto part = load_part(x + i, n - i, last);
    store_part(Math::call(Is<Primitive::exp>(), hn::Sub(part, shifts)), out + i, n - i, last);
  }
}

// The sum of e^(x[i] - shift).
template <class T>
double row_exp_sum(const T* x, T shift, std::int64_t n) {
  HWY_ALIGN T powers[block_elements / 4];
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += block_elements / 4) {
    const std::int64_t count = std::min(block_elements / 4, n - i);
    row_exp(x + i, shift, powers, count);
    sum += row_sum(powers, count);
  }
  return sum;
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_ROWS_INL
