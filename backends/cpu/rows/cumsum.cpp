// Cumulative sums along an axis, in float64 for floating types; those of int64 wrap around.
#include <type_traits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"
#include "asyncgrad/backends/cpu/vectors/prefetch.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

// Goes through n elements from the first on, or from the last.
struct Direction {
  std::int64_t first, step;
  Direction(std::int64_t n, bool from_end) : first(from_end ? n - 1 : 0), step(from_end ? -1 : 1) {}
};

// `count` lines side by side, `apart` elements apart: their totals stay in registers, and do not wait for each other. The
// elements of a line are `stride` apart.
template <std::int64_t count, class T>
void sum_lines(const T* in, std::int64_t apart, std::int64_t n, std::int64_t stride, T* out, bool from_end) {
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

// The columns of a strip, many of them.
template <class T>
void sum_columns(const Strip<T>& strip, T* out, bool from_end) {
  constexpr std::int64_t rows_ahead = 4;
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

void run_cumsum(const KernelCall& call, int tile) {
  const bool from_end = call.attributes<CumsumAttributes>().from_end;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const T* const in = call.data<T>(1);
    T* const out = call.data<T>(0);
    constexpr std::int64_t few_columns = 8;
    each_strip<CumsumAttributes>(
        call, tile, in,
        [&](const Strip<T>& strip, std::int64_t) {
          each_line(strip.rows, strip.data, strip.stride, strip.columns, 1, out + (strip.data - in), from_end);
        },
        [&](const Strip<T>& strip, std::int64_t) {
          T* const y = out + (strip.data - in);
          if (strip.columns > few_columns) return sum_columns(strip, y, from_end);
          each_line(strip.columns, strip.data, 1, strip.rows, strip.stride, y, from_end);
        });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::cumsum{.run = run_cumsum, .tiles = strip_tiles<CumsumAttributes>};

}  // namespace asyncgrad::detail
