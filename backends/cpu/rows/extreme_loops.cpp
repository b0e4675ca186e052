// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/extreme_loops.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/extreme_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/strip_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

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
static constexpr ExtremeLoops<T> functions{.max = {extreme_rows<true, T>, extreme_columns<true, T>},
                                           .min = {extreme_rows<false, T>, extreme_columns<false, T>}};
ArithmeticLoops<ExtremeLoops> extreme_loops() { return {functions<float>, functions<double>, functions<std::int64_t>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(extreme_loops);

const ArithmeticLoops<ExtremeLoops>& extreme_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(extreme_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
