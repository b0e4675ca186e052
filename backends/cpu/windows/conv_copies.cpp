// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/windows/conv_copies.h"

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/core/backend/round_up.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/windows/conv_copies.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Writes whole vectors, which may reach behind the n elements. The first is apart, as the compiler makes a call of a
// loop that it rarely enters.
template <class T>
HWY_INLINE void clear_over(std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  if (n <= 0) return;
  hn::StoreU(hn::Zero(d), d, to);
  for (std::int64_t i = lanes_of<T>; i < n; i += lanes_of<T>) hn::StoreU(hn::Zero(d), d, to + i);
}
// Copies n elements by whole vectors, which may write behind them.
template <class T>
HWY_INLINE void copy_over(const T* from, std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = lanes_of<T>;
  HWY_ALIGN T beside[HWY_MAX_BYTES / sizeof(T)];
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_part_of(hn::Zero(d), from + i, n - i, beside), d, to + i);
}
// Copies every second element.
template <class T>
HWY_INLINE void copy_even(const T* from, std::int64_t n, T* to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has vectors of one element
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = lanes_of<T>;
  for (; i + lanes < n; i += lanes) {  // the last element read is not beyond the last of n
    hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + lanes), hn::LoadU(d, from + 2 * i)), d, to + i);
  }
#endif
  for (; i < n; ++i) to[i] = from[2 * i];
}

template <class T>
HWY_INLINE void copy_line(const ConvPlanes<T>& p, const T* line, T* to) {
  const std::int64_t n = p.end - p.begin, lanes = lanes_of<T>;
  const T* const from = line + p.first_column + p.begin * p.column_step;
  std::int64_t written = p.end;
  clear_over(p.begin, to);
  if (p.column_step == 1) {
    copy_over(from, n, to + p.begin);
    written = p.begin + rounded_up(n, lanes);
  } else if (p.column_step == 2) {
    copy_even(from, n, to + p.begin);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[p.begin + i] = from[i * p.column_step];
  }
  clear_over(p.columns - written, to + written);
}

// Lines that fit into a vector.
template <class T>
void copy_narrow_planes(const ConvPlanes<T>& p) {
  const hn::ScalableTag<T> d;
  const auto inside =
      hn::AndNot(hn::FirstN(d, static_cast<std::size_t>(p.begin)), hn::FirstN(d, static_cast<std::size_t>(p.end)));
  T* to = p.to;
  for (std::int64_t image = p.images.begin; image < p.images.end; ++image) {
    const T* const plane = p.from + image * p.image_stride;
    for (std::int64_t row = 0; row < p.rows; ++row, to += p.columns) {
      const std::int64_t line = p.first_row + row * p.row_step;
      auto elements = hn::Zero(d);
      if (line >= 0 && line < p.height) elements = hn::MaskedLoad(inside, d, plane + line * p.width + p.first_column);
      hn::StoreU(elements, d, to);
    }
  }
}

// In order, as the vectors of a line reach into the next.
template <class T>
void copy_planes(const ConvPlanes<T>& p) {
  if (has_masked_memory && p.column_step == 1 && p.columns <= lanes_of<T>) return copy_narrow_planes(p);
  T* to = p.to;
  for (std::int64_t image = p.images.begin; image < p.images.end; ++image) {
    for (std::int64_t row = 0; row < p.rows; ++row, to += p.columns) {
      const std::int64_t line = p.first_row + row * p.row_step;
      if (line < 0 || line >= p.height) {
        clear_over(p.columns, to);
      } else {
        copy_line(p, p.from + image * p.image_stride + line * p.width, to);
      }
    }
  }
}

template <class T>
ConvCopies<T> copies_of() {
  return {lanes_of<T>, copy_planes<T>, transpose<T>};
}
FloatingLoops<ConvCopies> conv_copies() { return {copies_of<float>(), copies_of<double>()}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(conv_copies);

const FloatingLoops<ConvCopies>& conv_copies() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(conv_copies)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
