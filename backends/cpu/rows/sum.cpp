// sum along an axis, of booleans, too, and its two parts for few long lines.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/sum_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

// How many elements of each column are 1, of bytes that are 0 or 1. They are added in bytes, over as many rows as these
// hold. Columns of narrow matrices are counted in several parts side by side, so that these rows are long.
void count_ones(const Strip<std::uint8_t>& strip, std::int64_t* counts) {
  const std::int64_t parts = rows_side_by_side(strip), width = parts * strip.columns, rows = strip.rows / parts;
  std::array<std::int64_t, strip_columns> totals;
  std::fill_n(totals.begin(), width, 0);
  for (std::int64_t begin = 0; begin < rows; begin += std::numeric_limits<std::uint8_t>::max()) {
    const std::int64_t end = std::min<std::int64_t>(rows, begin + std::numeric_limits<std::uint8_t>::max());
    std::array<std::uint8_t, strip_columns> sums;
    std::fill_n(sums.begin(), width, 0);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::uint8_t* const x = strip.data + row * parts * strip.stride;
      for (std::int64_t j = 0; j < width; ++j) sums[static_cast<std::size_t>(j)] += x[j];
    }
    for (std::int64_t j = 0; j < width; ++j) totals[static_cast<std::size_t>(j)] += sums[static_cast<std::size_t>(j)];
  }
  for (std::int64_t j = 0; j < strip.columns; ++j) {
    counts[j] = 0;
    for (std::int64_t i = j; i < width; i += strip.columns) counts[j] += totals[static_cast<std::size_t>(i)];
    for (std::int64_t row = rows * parts; row < strip.rows; ++row) counts[j] += strip.data[row * strip.stride + j];
  }
}

std::int64_t count_ones(const std::uint8_t* x, std::int64_t n) {
  std::int64_t count = 0;
  if (n < 2 * strip_columns) return std::accumulate(x, x + n, count);
  count_ones({x, n, 1, 1}, &count);
  return count;
}

// The sum of booleans.
template <class T>
void run_count(const KernelCall& call, int tile) {
  const double scale = call.attributes<ReduceAttributes>().scale;
  T* const out = call.data<T>(0);
  each_strip<ReduceAttributes>(
      call, tile, call.data<std::uint8_t>(1),
      [&](const Strip<std::uint8_t>& strip, std::int64_t line) {
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          out[line + row] = scaled<T>(count_ones(strip.data + row * strip.stride, strip.columns), scale);
        }
      },
      [&](const Strip<std::uint8_t>& strip, std::int64_t line) {
        std::array<std::int64_t, strip_columns> counts;
        count_ones(strip, counts.data());
        for (std::int64_t j = 0; j < strip.columns; ++j) {
          out[line + j] = scaled<T>(counts[static_cast<std::size_t>(j)], scale);
        }
      });
}

template <class T>
const SumStripLoops<T>& loops_of(const ReduceAttributes& a) {
  const SumLoops<T>& all = sum_loops().of<T>();
  return a.of_squares ? all.sum_of_squares : all.sum;
}

void run_sum(const KernelCall& call, int tile) {
  if (call.dtype(1) == DType::boolean) {
    return visit_arithmetic(call.dtype(0), [&]<class T>(T) { run_count<T>(call, tile); });
  }
  const auto& a = call.attributes<ReduceAttributes>();
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const SumStripLoops<T>& loops = loops_of<T>(a);
    reduce_strips<T>(
        call, tile, [&](const Strip<T>& strip, T* out) { loops.rows(strip, a.scale, out); },
        [&](const Strip<T>& strip, T* out) { loops.columns(strip, a.scale, out); });
  });
}

// --- sum_parts: an item is a block of each line of those side by side.

std::int64_t sum_items(const ReduceAttributes& a) { return a.outer * divided_up(a.axis, summed_block(a)); }
std::int64_t sum_items_per_tile(const ReduceAttributes& a) { return items_per_tile(summed_block(a) * a.inner); }

int sum_parts_tiles(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_count(sum_items(a), sum_items_per_tile(a));
}

void run_sum_parts(const KernelCall& call, int tile) {
  const auto& a = call.attributes<ReduceAttributes>();
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    const SumStripLoops<T>& loops = loops_of<T>(a);
    const std::int64_t blocks = divided_up(a.axis, summed_block(a));
    const Range items = tile_range(sum_items(a), sum_items_per_tile(a), tile);
    for (std::int64_t item = items.begin; item < items.end; ++item) {
      const std::int64_t begin = item % blocks * summed_block(a), left = a.axis - begin,
                         n = std::min(left, summed_block(a));
      const T* const x = call.data<T>(1) + (item / blocks * a.axis + begin) * a.inner;
      auto* const parts = call.data<Total<T>>(0) + item * a.inner;
      if (a.inner == 1) {
        loops.row_block(x, n, parts);
        continue;
      }
      for (std::int64_t first = 0; first < a.inner; first += strip_columns) {
        loops.column_block({x + first, left, std::min(strip_columns, a.inner - first), a.inner}, n, parts + first);
      }
    }
  });
}

template <class T>
void add_parts(const KernelCall& call, int tile) {
  const double scale = call.attributes<ReduceAttributes>().scale;
  T* const out = call.data<T>(0);
  const auto add = [&](const Strip<Total<T>>& strip, std::int64_t line) {
    std::array<Total<T>, strip_columns> totals{};
    for (std::int64_t row = 0; row < strip.rows; ++row) {
      const Total<T>* const parts = strip.data + row * strip.stride;
      for (std::int64_t j = 0; j < strip.columns; ++j) totals[static_cast<std::size_t>(j)] += parts[j];
    }
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      out[line + j] = scaled<T>(totals[static_cast<std::size_t>(j)], scale);
    }
  };
  each_strip<ReduceAttributes>(
      call, tile, call.data<Total<T>>(1),
      [&](const Strip<Total<T>>& strip, std::int64_t line) {
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          add({strip.data + row * strip.stride, strip.columns, 1, 1}, line + row);
        }
      },
      add);
}
void run_sum_of_parts(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) { add_parts<T>(call, tile); });
}

}  // namespace

constinit const Kernel cpu_kernels::sum{.run = run_sum, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::sum_parts{.run = run_sum_parts, .tiles = sum_parts_tiles};
constinit const Kernel cpu_kernels::sum_of_parts{.run = run_sum_of_parts, .tiles = strip_tiles<ReduceAttributes>};

}  // namespace asyncgrad::detail
