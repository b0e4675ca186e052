// sum along an axis, of booleans, too, and its two parts for few long lines.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/line_blocks.h"
#include "asyncgrad/backends/cpu/rows/sum_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

// How many elements of each column are true. They are counted in bytes, over as many rows as these hold. Columns of
// narrow matrices are counted in several parts side by side, so that these rows are long.
void count_true(const Strip<std::uint8_t>& strip, std::int64_t* counts) {
  const std::int64_t parts = rows_side_by_side(strip), width = parts * strip.columns, rows = strip.rows / parts;
  std::array<std::int64_t, strip_columns> totals;
  std::fill_n(totals.begin(), width, 0);
  for (std::int64_t begin = 0; begin < rows; begin += std::numeric_limits<std::uint8_t>::max()) {
    const std::int64_t end = std::min<std::int64_t>(rows, begin + std::numeric_limits<std::uint8_t>::max());
    std::array<std::uint8_t, strip_columns> sums;
    std::fill_n(sums.begin(), width, 0);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::uint8_t* const x = strip.data + row * parts * strip.stride;
      for (std::int64_t j = 0; j < width; ++j) sums[static_cast<std::size_t>(j)] += x[j] != 0 ? 1 : 0;
    }
    for (std::int64_t j = 0; j < width; ++j) totals[static_cast<std::size_t>(j)] += sums[static_cast<std::size_t>(j)];
  }
  for (std::int64_t j = 0; j < strip.columns; ++j) {
    counts[j] = 0;
    for (std::int64_t i = j; i < width; i += strip.columns) counts[j] += totals[static_cast<std::size_t>(i)];
    for (std::int64_t row = rows * parts; row < strip.rows; ++row)
      counts[j] += strip.data[row * strip.stride + j] != 0 ? 1 : 0;
  }
}

std::int64_t count_true(const std::uint8_t* x, std::int64_t n) {
  std::int64_t count = 0;
  if (n < 2 * strip_columns) return n - std::count(x, x + n, std::uint8_t{0});
  count_true({x, n, 1, 1}, &count);
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
          out[line + row] = scaled<T>(count_true(strip.data + row * strip.stride, strip.columns), scale);
        }
      },
      [&](const Strip<std::uint8_t>& strip, std::int64_t line) {
        std::array<std::int64_t, strip_columns> counts;
        count_true(strip, counts.data());
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

void run_sum_parts(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    const SumStripLoops<T>& loops = loops_of<T>(call.attributes<ReduceAttributes>());
    each_block<T>(call, tile, loops.row_block, loops.column_block);
  });
}

void run_sum_of_parts(const KernelCall& call, int tile) {
  const double scale = call.attributes<ReduceAttributes>().scale;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    combine_parts<T>(
        call, tile, 0, [](Total<T> x, Total<T> y) { return x + y; },
        [&](Total<T> sum) { return scaled<T>(sum, scale); });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::sum{.run = run_sum, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::sum_parts{.run = run_sum_parts, .tiles = line_block_tiles};
constinit const Kernel cpu_kernels::sum_of_parts{.run = run_sum_of_parts, .tiles = strip_tiles<ReduceAttributes>};

}  // namespace asyncgrad::detail
