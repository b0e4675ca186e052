// Cumulative sums along an axis, in float64 for floating types; those of int64 wrap around.
#include <type_traits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/axis_strips.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

// The columns of a strip, from their first elements on or from their last ones.
template <class T>
void sum_columns(const Strip<T>& strip, T* out, bool from_end) {
  Total<T> totals[strip_columns];
  std::fill_n(totals, strip.columns, Total<T>{0});
  for (std::int64_t i = 0; i < strip.rows; ++i) {
    const std::int64_t row = (from_end ? strip.rows - 1 - i : i) * strip.stride;
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      totals[j] += static_cast<Total<T>>(strip.data[row + j]);
      out[row + j] = static_cast<T>(totals[j]);
    }
  }
}

// A row of n elements, likewise: its total stays in a register.
template <class T>
void sum_row(const T* in, std::int64_t n, T* out, bool from_end) {
  Total<T> total{0};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = from_end ? n - 1 - i : i;
    total += static_cast<Total<T>>(in[at]);
    out[at] = static_cast<T>(total);
  }
}

void run_cumsum(const KernelCall& call, int tile) {
  const bool from_end = call.attributes<CumsumAttributes>().from_end;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const T* const in = call.data<T>(1);
    T* const out = call.data<T>(0);
    each_strip<CumsumAttributes>(
        call, tile, in,
        [&](const Strip<T>& strip, std::int64_t) {
          for (std::int64_t row = 0; row < strip.rows; ++row) {
            const T* const x = strip.data + row * strip.stride;
            sum_row(x, strip.columns, out + (x - in), from_end);
          }
        },
        [&](const Strip<T>& strip, std::int64_t) { sum_columns(strip, out + (strip.data - in), from_end); });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::cumsum{.run = run_cumsum, .tiles = strip_tiles<CumsumAttributes>};

}  // namespace asyncgrad::detail
