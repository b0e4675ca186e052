// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/cumsum_loops.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/backends/cpu/vectors/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/cumsum_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Goes through n elements from the first on, or from the last.
struct Direction {
  std::int64_t first, step;
  Direction(std::int64_t n, bool from_end) : first(from_end ? n - 1 : 0), step(from_end ? -1 : 1) {}
};

// `count` lines side by side, `apart` elements apart: their totals stay in registers, and do not wait for each other. The
// elements of a line are `stride` apart.
template <std::int64_t count, class T>
HWY_INLINE void sum_lines(const T* in, std::int64_t apart, std::int64_t n, std::int64_t stride, T* out, bool from_end) {
  Total<T> totals[count] = {};
  const Direction way(n, from_end);
  std::int64_t at = way.first * stride;
  for (std::int64_t i = 0; i < n; ++i, at += way.step * stride) {
    for (std::int64_t j = 0; j < count; ++j) {
      totals[j] += static_cast<Total<T>>(in[j * apart + at]);
      out[j * apart + at] = static_cast<T>(totals[j]);
    }
  }
}
template <class T>
void each_line(std::int64_t lines, const T* in, std::int64_t apart, std::int64_t n, std::int64_t stride, T* out,
               bool from_end) {
  std::int64_t line = 0;
  for (; line + 4 <= lines; line += 4) {
    // The processor does not foresee where lines begin, least of all at their ends.
    if (stride == 1 && 4 * n <= prefetched_ahead && line + 8 <= lines) {
      prefetch(in + (line + 4) * apart, 4 * n);
      prefetch(out + (line + 4) * apart, 4 * n);
    }
    sum_lines<4>(in + line * apart, apart, n, stride, out + line * apart, from_end);
  }
  if (line + 2 <= lines) {
    sum_lines<2>(in + line * apart, apart, n, stride, out + line * apart, from_end);
    line += 2;
  }
  if (line < lines) sum_lines<1>(in + line * apart, apart, n, stride, out + line * apart, from_end);
}

#if HWY_TARGET != HWY_SCALAR

// The running sums of as many lines as a vector has lanes.
template <class T>
class Totals {
 public:
  HWY_INLINE Totals() : total_(hn::Zero(hn::ScalableTag<T>())) {}
  // Adds an element of each line, and returns the sums.
  HWY_INLINE Lanes<T> add(Lanes<T> x) {
    total_ = hn::Add(total_, x);
    return total_;
  }

 private:
  Lanes<T> total_;
};
template <>
class Totals<float> {
 public:
  HWY_INLINE Totals() : lower_(hn::Zero(wide)), upper_(hn::Zero(wide)) {}
  HWY_INLINE Lanes<float> add(Lanes<float> x) {
    const hn::ScalableTag<float> d;
    const hn::Half<decltype(d)> half;
    lower_ = hn::Add(lower_, hn::PromoteTo(wide, hn::LowerHalf(half, x)));
    upper_ = hn::Add(upper_, hn::PromoteTo(wide, hn::UpperHalf(half, x)));
    return hn::Combine(d, hn::DemoteTo(half, upper_), hn::DemoteTo(half, lower_));
  }

 private:
  static constexpr hn::ScalableTag<double> wide{};
  Lanes<double> lower_, upper_;
};

template <std::int64_t n, class T>
HWY_INLINE void load_columns(const T* from, Lanes<T> (&x)[n]) {
  const hn::ScalableTag<T> d;
  if constexpr (n == 2) {
    hn::LoadInterleaved2(d, from, x[0], x[1]);
  } else if constexpr (n == 3) {
    hn::LoadInterleaved3(d, from, x[0], x[1], x[2]);
  } else {
    hn::LoadInterleaved4(d, from, x[0], x[1], x[2], x[3]);
  }
}
template <std::int64_t n, class T>
HWY_INLINE void store_columns(const Lanes<T> (&x)[n], T* to) {
  const hn::ScalableTag<T> d;
  if constexpr (n == 2) {
    hn::StoreInterleaved2(x[0], x[1], d, to);
  } else if constexpr (n == 3) {
    hn::StoreInterleaved3(x[0], x[1], x[2], d, to);
  } else {
    hn::StoreInterleaved4(x[0], x[1], x[2], x[3], d, to);
  }
}

// Rows of n elements, a vector for each of their columns.
template <std::int64_t n, bool from_end, class T>
HWY_INLINE void sum_short_rows(const T* in, std::int64_t rows, T* out) {
  std::int64_t row = 0;
  for (; row + lanes_of<T> <= rows; row += lanes_of<T>) {
    prefetch(in + row * n + prefetched_ahead, n * lanes_of<T>);
    Lanes<T> x[n];
    load_columns<n>(in + row * n, x);
    Totals<T> totals;
    for (std::int64_t i = 0; i < n; ++i) {
      auto& column = x[from_end ? n - 1 - i : i];
      column = totals.add(column);
    }
    store_columns<n>(x, out + row * n);
  }
  each_line(rows - row, in + row * n, n, n, 1, out + row * n, from_end);
}
template <std::int64_t n, class T>
HWY_INLINE void sum_short_rows(const Strip<T>& strip, T* out, bool from_end) {
  if (from_end) return sum_short_rows<n, true>(strip.data, strip.rows, out);
  sum_short_rows<n, false>(strip.data, strip.rows, out);
}

#endif  // HWY_TARGET != HWY_SCALAR

template <class T>
void sum_rows(const Strip<T>& strip, T* out, bool from_end) {
#if HWY_TARGET != HWY_SCALAR
  if (strip.columns == 2) return sum_short_rows<2>(strip, out, from_end);
  if (strip.columns == 3) return sum_short_rows<3>(strip, out, from_end);
  if (strip.columns == 4) return sum_short_rows<4>(strip, out, from_end);
#endif
  each_line(strip.rows, strip.data, strip.stride, strip.columns, 1, out, from_end);
}

template <class T>
void sum_columns(const Strip<T>& strip, T* out, bool from_end) {
  constexpr std::int64_t few_columns = 8, rows_ahead = 4;
  if (strip.columns <= few_columns) {
    return each_line(strip.columns, strip.data, 1, strip.rows, strip.stride, out, from_end);
  }
  Total<T> totals[strip_columns];
  std::fill_n(totals, strip.columns, Total<T>{0});
  const Direction way(strip.rows, from_end);
  for (std::int64_t i = 0, row = way.first; i < strip.rows; ++i, row += way.step) {
    const T* const x = strip.data + row * strip.stride;
    T* const y = out + row * strip.stride;
    prefetch(x + rows_ahead * way.step * strip.stride, strip.columns);
    prefetch(y + rows_ahead * way.step * strip.stride, strip.columns);
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      totals[j] += static_cast<Total<T>>(x[j]);
      y[j] = static_cast<T>(totals[j]);
    }
  }
}

template <class T>
static constexpr CumsumLoops<T> functions{sum_rows<T>, sum_columns<T>};
ArithmeticLoops<CumsumLoops> cumsum_loops() { return {functions<float>, functions<double>, functions<std::int64_t>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(cumsum_loops);

const ArithmeticLoops<CumsumLoops>& cumsum_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(cumsum_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
