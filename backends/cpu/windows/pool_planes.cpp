// Compiled once for every instruction set. The loops along a row have no branches, so that the compiler computes several
// elements at a time.
#include "asyncgrad/backends/cpu/windows/pool_planes.h"

#include <cstddef>
#include <limits>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/windows/pool_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/windows/max_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// For an element of a window along the width: the outputs for which it lies inside of the input, and where it lies there
// for the first of them.
struct Columns {
  std::int64_t output, input, count;
};

// The list of these, at the begin of the scratch. The rest of the scratch is behind it.
struct ColumnList {
  Columns *first, *last;

  ColumnList(const PoolAxis& width, std::byte* scratch) : first(reinterpret_cast<Columns*>(scratch)), last(first) {
    const Range elements = width.elements();
    for (std::int64_t k = elements.begin; k < elements.end; ++k) {
      const Range outputs = width.outputs(k);
      if (outputs.begin == outputs.end) continue;
      *last++ = {outputs.begin, outputs.begin * width.stride + k - width.padding, outputs.end - outputs.begin};
    }
  }
  const Columns* begin() const { return first; }
  const Columns* end() const { return last; }
};

// Fewer outputs in a row are computed window by window.
constexpr std::int64_t min_row = 5;

// Calls function(its number, rows, columns of the input) for each window.
template <class Function>
HWY_INLINE void each_window(const PoolPlane& plane, Function function) {
  for (std::int64_t i = 0, output = 0; i < plane.height.out; ++i) {
    const Range rows = plane.height.window(i);
    for (std::int64_t j = 0; j < plane.width.out; ++j) function(output++, rows, plane.width.window(j));
  }
}

// NOLINTBEGIN(misc-redundant-expression): a NaN is not equal to itself

template <class T>
HWY_INLINE T larger(T other, T value) {
  return ((other > value) | (other != other)) ? other : value;
}

template <class T>
struct Largest {
  T value;
  std::int64_t place;
};
// The largest element of a window whose first element is `first`. There are no branches that depend on the values,
// because which element is the largest is hard to predict.
template <class T>
HWY_INLINE Largest<T> largest_of(const T* x, std::int64_t first, std::int64_t rows, std::int64_t columns,
                                 std::int64_t width) {
  T largest = x[first];
  bool has_nan = false;
  for (std::int64_t at = first; at < first + rows * width; at += width) {
    for (std::int64_t j = at; j < at + columns; ++j) {
      largest = x[j] > largest ? x[j] : largest;
      has_nan |= x[j] != x[j];
    }
  }
  std::int64_t place = first;
  if (has_nan) {  // the last one counts
    for (std::int64_t at = first; at < first + rows * width; at += width) {
      for (std::int64_t j = at; j < at + columns; ++j) place = x[j] != x[j] ? j : place;
    }
    return {x[place], place};
  }
  std::int64_t is_before = 1;
  for (std::int64_t at = first; at < first + rows * width; at += width) {
    for (std::int64_t j = at; j < at + columns; ++j) {
      is_before &= static_cast<std::int64_t>(x[j] != largest);
      place += is_before;
    }
    place += is_before * (width - columns);
  }
  return {largest, place};
}

// `places` may be null.
template <class T>
void max_of_windows(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places) {
  const std::int64_t width = plane.width.in;
  for (; count > 0; --count, x += plane.in(), y += plane.out()) {
    each_window(plane, [&](std::int64_t output, const Range& rows, const Range& columns) HWY_ATTR {
      const Largest<T> largest =
          largest_of(x, rows.begin * width + columns.begin, rows.end - rows.begin, columns.end - columns.begin, width);
      y[output] = largest.value;
      if (places != nullptr) places[output] = largest.place;
    });
    if (places != nullptr) places += plane.out();
  }
}

// The largest elements of the rows of a window, for each column.
template <class T>
HWY_INLINE void largest_of_rows(const T* x, const Range& rows, std::int64_t width, T* HWY_RESTRICT row_max) {
  std::copy_n(x + rows.begin * width, width, row_max);
  for (std::int64_t row = rows.begin + 1; row < rows.end; ++row) {
    const T* HWY_RESTRICT const in = x + row * width;
    for (std::int64_t j = 0; j < width; ++j) row_max[j] = larger(in[j], row_max[j]);
  }
}

#if HWY_TARGET != HWY_SCALAR

// With a stride of 2, and as many outputs in a row as a vector has lanes, at least: the row has its padding, and the
// elements of a window are compared in registers.
template <class T>
void max_of_every_second(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::byte* scratch) {
  const hn::ScalableTag<T> d;
  const PoolAxis &height = plane.height, &width = plane.width;
  const std::int64_t lanes = lanes_of<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  T* const padded = reinterpret_cast<T*>(scratch);
  std::fill_n(padded, width.padding, lowest);
  std::fill_n(padded + width.padding + width.in, width.padding + 1, lowest);  // vectors have an element more
  for (const T* const end = x + count * plane.in(); x != end; x += plane.in()) {
    for (std::int64_t i = 0; i < height.out; ++i, y += width.out) {
      largest_of_rows(x, height.window(i), width.in, padded + width.padding);
      for (std::int64_t j = 0; j < width.out; j += lanes) {
        const std::int64_t first = std::min(j, width.out - lanes);  // the last vector may overlap
        auto largest = hn::Set(d, lowest);
        for (const T *at = padded + 2 * first, *last = at + width.kernel; at != last; ++at) {
          const auto other = hn::ConcatEven(d, hn::LoadU(d, at + lanes), hn::LoadU(d, at));
          largest = hn::IfThenElse(hn::Or(hn::Gt(other, largest), hn::IsNaN(other)), other, largest);
        }
        hn::StoreU(largest, d, y + first);
      }
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

template <class T>
void max(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::byte* scratch) {
  if (plane.width.out < min_row) return max_of_windows(plane, count, x, y, nullptr);
  if (suits_max_windows<T>(plane)) return max_windows(plane, count, x, y, nullptr);
#if HWY_TARGET != HWY_SCALAR
  const bool has_wide_padding = plane.width.padding > plane.width.in;
  if (plane.width.stride == 2 && plane.width.out >= lanes_of<T> && !has_wide_padding) {
    return max_of_every_second(plane, count, x, y, scratch);
  }
#endif
  const PoolAxis &height = plane.height, &width = plane.width;
  const ColumnList list(width, scratch);
  T* HWY_RESTRICT const row_max = reinterpret_cast<T*>(list.last);
  for (const T* const end = x + count * plane.in(); x != end; x += plane.in()) {
    for (std::int64_t i = 0; i < height.out; ++i, y += width.out) {
      largest_of_rows(x, height.window(i), width.in, row_max);
      std::fill_n(y, width.out, -std::numeric_limits<T>::infinity());
      for (const Columns& columns : list) {
        T* HWY_RESTRICT const out = y + columns.output;
        const T* HWY_RESTRICT const in = row_max + columns.input;
        for (std::int64_t j = 0; j < columns.count; ++j) out[j] = larger(in[j * width.stride], out[j]);
      }
    }
  }
}

// If Place, which is no narrower, is as wide as T, both are computed by the same lanes.
template <class Place, class T>
void max_at_of(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places, std::byte* scratch) {
  const PoolAxis &height = plane.height, &width = plane.width;
  const ColumnList list(width, scratch);
  auto* HWY_RESTRICT const row_at = reinterpret_cast<Place*>(list.last);
  auto* HWY_RESTRICT const y_at = row_at + width.in;
  T* HWY_RESTRICT const row_max = reinterpret_cast<T*>(y_at + width.out);
  for (const T* const end = x + count * plane.in(); x != end; x += plane.in()) {
    for (std::int64_t i = 0; i < height.out; ++i, y += width.out, places += width.out) {
      const Range rows = height.window(i);
      std::copy_n(x + rows.begin * width.in, width.in, row_max);
      for (std::int64_t j = 0; j < width.in; ++j) row_at[j] = static_cast<Place>(rows.begin * width.in + j);
      for (std::int64_t row = rows.begin + 1; row < rows.end; ++row) {
        const T* HWY_RESTRICT const in = x + row * width.in;
        const auto first = static_cast<Place>(row * width.in);
        for (std::int64_t j = 0; j < width.in; ++j) {
          const bool replaces = (in[j] > row_max[j]) | (in[j] != in[j]);
          row_max[j] = replaces ? in[j] : row_max[j];
          row_at[j] = replaces ? static_cast<Place>(first + static_cast<Place>(j)) : row_at[j];
        }
      }
      for (std::int64_t j = 0; j < width.out; ++j) {
        const std::int64_t first = std::max<std::int64_t>(0, j * width.stride - width.padding);
        y[j] = row_max[first];
        y_at[j] = row_at[first];
      }
      for (const Columns& columns : list) {
        T* HWY_RESTRICT const out = y + columns.output;
        Place* HWY_RESTRICT const out_at = y_at + columns.output;
        const T* HWY_RESTRICT const in = row_max + columns.input;
        const Place* HWY_RESTRICT const in_at = row_at + columns.input;
        for (std::int64_t j = 0; j < columns.count; ++j) {
          const T other = in[j * width.stride], value = out[j];
          const Place other_at = in_at[j * width.stride], value_at = out_at[j];
          const bool is_nan = other != other;
          const bool replaces = (other > value) | ((other == value) & (other_at < value_at)) |
                                (is_nan & ((value == value) | (other_at > value_at)));
          out[j] = replaces ? other : value;
          out_at[j] = replaces ? other_at : value_at;
        }
      }
      std::copy_n(y_at, width.out, places);
    }
  }
}

// NOLINTEND(misc-redundant-expression)

template <class T>
void max_at(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places, std::byte* scratch) {
  if (plane.width.out < min_row) return max_of_windows(plane, count, x, y, places);
  if (suits_max_windows<T>(plane)) return max_windows(plane, count, x, y, places);
  const bool is_small = sizeof(T) == 4 && plane.in() <= std::numeric_limits<std::int32_t>::max();
  (is_small ? max_at_of<std::int32_t, T> : max_at_of<std::int64_t, T>)(plane, count, x, y, places, scratch);
}

// The sum of n adjacent elements, in eight running sums.
template <class T>
HWY_INLINE double sum_of(const T* x, std::int64_t n) {
  constexpr std::int64_t running = 8;
  double sum = 0, sums[running] = {};
  std::int64_t i = 0;
  if (n >= running) {
    for (; i + running <= n; i += running) {
      for (std::int64_t k = 0; k < running; ++k) sums[k] += static_cast<double>(x[i + k]);
    }
    for (const double part : sums) sum += part;
  }
  for (; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

template <class T>
void mean_of_windows(const PoolPlane& plane, std::int64_t count, const T* x, T* y) {
  const std::int64_t width = plane.width.in;
  const double share = plane.share();
  for (; count > 0; --count, x += plane.in(), y += plane.out()) {
    each_window(plane, [&](std::int64_t output, const Range& rows, const Range& columns) HWY_ATTR {
      const std::int64_t length = columns.end - columns.begin, row_count = rows.end - rows.begin;
      const T* const first = x + rows.begin * width + columns.begin;
      double sum = 0;
      if (length == width) {
        sum = sum_of(first, row_count * width);
      } else {
        for (std::int64_t row = 0; row < row_count; ++row) sum += sum_of(first + row * width, length);
      }
      y[output] = static_cast<T>(sum * share);
    });
  }
}

template <class T>
void mean(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::byte* scratch) {
  if (plane.width.out < min_row) return mean_of_windows(plane, count, x, y);
  const PoolAxis &height = plane.height, &width = plane.width;
  const double share = plane.share();
  const ColumnList list(width, scratch);
  auto* HWY_RESTRICT const row_sums = reinterpret_cast<double*>(list.last);
  double* HWY_RESTRICT const y_sums = row_sums + width.in;
  for (const T* const end = x + count * plane.in(); x != end; x += plane.in()) {
    for (std::int64_t i = 0; i < height.out; ++i, y += width.out) {
      const Range rows = height.window(i);
      std::fill_n(row_sums, width.in, 0.0);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const T* HWY_RESTRICT const in = x + row * width.in;
        for (std::int64_t j = 0; j < width.in; ++j) row_sums[j] += static_cast<double>(in[j]);
      }
      std::fill_n(y_sums, width.out, 0.0);
      for (const Columns& columns : list) {
        double* HWY_RESTRICT const out = y_sums + columns.output;
        const double* HWY_RESTRICT const in = row_sums + columns.input;
        if (width.stride == 2) {  // a constant, so that the compiler adds several at a time
          for (std::int64_t j = 0; j < columns.count; ++j) out[j] += in[2 * j];
        } else {
          for (std::int64_t j = 0; j < columns.count; ++j) out[j] += in[j * width.stride];
        }
      }
      for (std::int64_t j = 0; j < width.out; ++j) y[j] = static_cast<T>(y_sums[j] * share);
    }
  }
}

template <class T>
void mean_grad_of_windows(const PoolPlane& plane, std::int64_t count, const T* dy, T* dx) {
  const double share = plane.share();
  for (; count > 0; --count, dx += plane.in(), dy += plane.out()) {
    std::fill_n(dx, plane.in(), T{0});
    each_window(plane, [&](std::int64_t output, const Range& rows, const Range& columns) HWY_ATTR {
      const T part = static_cast<T>(static_cast<double>(dy[output]) * share);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        T* const out = dx + row * plane.width.in;
        for (std::int64_t column = columns.begin; column < columns.end; ++column) out[column] += part;
      }
    });
  }
}

template <class T>
void mean_grad(const PoolPlane& plane, std::int64_t count, const T* dy, T* dx, std::byte* scratch) {
  if (plane.width.out < min_row) return mean_grad_of_windows(plane, count, dy, dx);
  const PoolAxis &height = plane.height, &width = plane.width;
  const double share = plane.share();
  const ColumnList list(width, scratch);
  T* HWY_RESTRICT const row_shares = reinterpret_cast<T*>(list.last);
  T* HWY_RESTRICT const dy_shares = row_shares + width.in;
  for (const T* const end = dx + count * plane.in(); dx != end; dx += plane.in()) {
    std::fill_n(dx, plane.in(), T{0});
    for (std::int64_t i = 0; i < height.out; ++i, dy += width.out) {
      for (std::int64_t j = 0; j < width.out; ++j) dy_shares[j] = static_cast<T>(static_cast<double>(dy[j]) * share);
      std::fill_n(row_shares, width.in, T{0});
      for (const Columns& columns : list) {
        T* HWY_RESTRICT const out = row_shares + columns.input;
        const T* HWY_RESTRICT const in = dy_shares + columns.output;
        for (std::int64_t j = 0; j < columns.count; ++j) out[j * width.stride] += in[j];
      }
      const Range rows = height.window(i);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        T* HWY_RESTRICT const out = dx + row * width.in;
        for (std::int64_t j = 0; j < width.in; ++j) out[j] += row_shares[j];
      }
    }
  }
}

template <class T>
static constexpr PoolPlanes<T> functions{max<T>, max_at<T>, mean<T>, mean_grad<T>};
FloatingLoops<PoolPlanes> pool_planes() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(pool_planes);

const FloatingLoops<PoolPlanes>& pool_planes() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(pool_planes)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
