// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/windows/conv_columns.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/windows/conv_columns.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Copies n elements by whole vectors, which may write up to 63 bytes behind them.
template <class T>
HWY_INLINE void copy_over(const T* from, std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN T beside[HWY_MAX_BYTES / sizeof(T)];
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_part_of(hn::Zero(d), from + i, n - i, beside), d, to + i);
}
template <class T>
HWY_INLINE void clear_over(std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < n; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
}
template <class T>
HWY_INLINE void add_row(const T* from, std::int64_t n, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN T beside[HWY_MAX_BYTES / sizeof(T)];
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  if (i == n) return;
  const auto sum = hn::Add(load_part(to + i, n - i, beside), load_part(from + i, n - i, beside));
  store_part(sum, to + i, n - i, beside);
}

// The outputs [first, last) of a row of outputs, of which [inside, behind) have an input.
struct Stretch {
  std::int64_t first, last, inside, behind;
};

// Calls visit(stretch, input row or null, place of the first input, place among the row's columns) for the columns of a
// row, one row of outputs after another.
template <class T, class Visit>
HWY_INLINE void each_stretch(const ConvColumns& part, std::int64_t row, T* image, Visit visit) {
  const ConvAxis &height = part.height, &width = part.width;
  const std::int64_t kernel = height.kernel * width.kernel;
  const std::int64_t channel = row / kernel, i = row % kernel / width.kernel, j = row % width.kernel;
  T* const plane = image + channel * height.in * width.in;
  const std::int64_t inside = width.first_inside(j), behind = std::max(inside, width.first_behind(j));
  std::int64_t p = part.first_column / width.out, q = part.first_column % width.out;
  for (std::int64_t column = part.first_column; column < part.last_column; ++p, q = 0) {
    const std::int64_t end = std::min(width.out, q + part.last_column - column);
    const std::int64_t y = height.input(p, i);
    T* const line = y >= 0 && y < height.in ? plane + y * width.in : nullptr;
    const Stretch stretch{q, end, std::clamp(inside, q, end), std::clamp(behind, q, end)};
    visit(stretch, line, width.input(stretch.inside, j), column - part.first_column);
    column += end - q;
  }
}

template <class T>
void copy(const ConvColumns& part, const T* image, T* columns) {
  constexpr std::int64_t line_elements = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t step = part.width.stride, count = part.last_column - part.first_column;
  const std::int64_t padding = (line_elements - count % line_elements) % line_elements;
  for (std::int64_t row = part.first_row; row < part.last_row; ++row) {
    T* const to_row = columns + (row - part.first_row) * part.stride;
    const auto visit = [&](const Stretch& s, const T* line, std::int64_t x, std::int64_t column) HWY_ATTR {
      T* const to = to_row + column;
      if (line == nullptr) return clear_over(s.last - s.first, to);
      const std::int64_t before = s.inside - s.first, n = s.behind - s.inside;
      clear_over(before, to);
      if (step == 1) {
        copy_over(line + x, n, to + before);
      } else {
        for (std::int64_t i = 0; i < n; ++i) to[before + i] = line[x + i * step];
      }
      clear_over(s.last - s.behind, to + before + n);
    };
    each_stretch(part, row, image, visit);
    clear_over(padding, to_row + count);
  }
}

template <class T>
void add(const ConvColumns& part, const T* columns, T* image) {
  const std::int64_t step = part.width.stride;
  for (std::int64_t row = part.first_row; row < part.last_row; ++row) {
    const T* const from_row = columns + (row - part.first_row) * part.stride;
    const auto visit = [&](const Stretch& s, T* line, std::int64_t x, std::int64_t column) HWY_ATTR {
      if (line == nullptr) return;
      const T* const from = from_row + column + s.inside - s.first;
      const std::int64_t n = s.behind - s.inside;
      if (step == 1) return add_row(from, n, line + x);
      for (std::int64_t i = 0; i < n; ++i) line[x + i * step] += from[i];
    };
    each_stretch(part, row, image, visit);
  }
}

template <class T>
constexpr ConvColumnLoops<T> functions{copy<T>, add<T>};
FloatingLoops<ConvColumnLoops> column_loops() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(column_loops);

const FloatingLoops<ConvColumnLoops>& column_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(column_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
