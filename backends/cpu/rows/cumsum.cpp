// Cumulative sums along an axis, in float64 for floating types; those of int64 wrap around.
#include <type_traits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

// A tile is a range of lines along the axis, and computes this many neighbouring ones at once.
constexpr std::int64_t max_columns = 256;

std::int64_t strips(const CumsumAttributes& a) { return (a.inner + max_columns - 1) / max_columns; }
std::int64_t strips_per_tile(const CumsumAttributes& a) {
  return items_per_tile(a.axis * std::min(a.inner, max_columns));
}

int cumsum_tiles(const KernelCall& call) {
  const auto& a = call.attributes<CumsumAttributes>();
  return tile_count(a.outer * strips(a), strips_per_tile(a));
}

// `columns` neighbouring lines, from their first elements on.
template <class T>
void sum_lines(const T* in, T* out, const CumsumAttributes& a, std::int64_t columns) {
  Total<T> totals[max_columns];
  std::fill_n(totals, columns, Total<T>{0});
  for (std::int64_t i = 0; i < a.axis; ++i) {
    const std::int64_t row = (a.from_end ? a.axis - 1 - i : i) * a.inner;
    for (std::int64_t j = 0; j < columns; ++j) {
      totals[j] += static_cast<Total<T>>(in[row + j]);
      out[row + j] = static_cast<T>(totals[j]);
    }
  }
}

// A line whose elements lie one behind the other: its total stays in a register.
template <class T>
void sum_line(const T* in, T* out, const CumsumAttributes& a) {
  Total<T> total{0};
  for (std::int64_t i = 0; i < a.axis; ++i) {
    const std::int64_t at = a.from_end ? a.axis - 1 - i : i;
    total += static_cast<Total<T>>(in[at]);
    out[at] = static_cast<T>(total);
  }
}

void run_cumsum(const KernelCall& call, int tile) {
  const auto& a = call.attributes<CumsumAttributes>();
  const Range range = tile_range(a.outer * strips(a), strips_per_tile(a), tile);
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t strip = range.begin; strip < range.end; ++strip) {
      const std::int64_t first = strip % strips(a) * max_columns;
      const std::int64_t at = strip / strips(a) * a.axis * a.inner + first;
      if (a.inner == 1) {
        sum_line(call.data<T>(1) + at, call.data<T>(0) + at, a);
      } else {
        sum_lines(call.data<T>(1) + at, call.data<T>(0) + at, a, std::min(max_columns, a.inner - first));
      }
    }
  });
}

}  // namespace

constinit const Kernel cpu_kernels::cumsum{.run = run_cumsum, .tiles = cumsum_tiles};

}  // namespace asyncgrad::detail
