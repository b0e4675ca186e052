// Sums along columns, whose rows are cut into parts. Internal.
//
// A block has one part of some columns: where their elements are neighbours, neighbouring threads read neighbouring
// columns. The rows are shared among the threads of a column. So the order of every sum depends on the shape alone.
#pragma once

#include <algorithm>

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

constexpr std::int64_t parts_of(std::int64_t rows, std::int64_t part_rows) {
  return rows == 0 ? 1 : (rows + part_rows - 1) / part_rows;
}

// A sum has
//   Partial                            with +; Partial{} is 0
//   value(row, column) -> Partial
//   finish(part, column, Partial)      writes the result
template <class Sum>
struct SumColumns {
  Sum sum;
  std::int64_t rows, columns, part_rows;
  int width;  // of a block, a power of 2

  std::int64_t parts() const { return parts_of(rows, part_rows); }
  __host__ __device__ std::int64_t groups() const { return (columns + width - 1) / width; }

  template <class Team>
  __device__ void operator()(Team, std::int64_t item) const {
    using Partial = typename Sum::Partial;
    static_assert(Team::size == block_threads);
    __shared__ Partial partials[block_threads];
    const Divided at = divided(item, groups());
    const int thread = Team::lane();
    const std::int64_t part = at.quotient, column = at.remainder * width + thread % width;
    const std::int64_t begin = part * part_rows, end = rows - begin < part_rows ? rows : begin + part_rows;
    Partial partial{};
    if (column < columns) {
      const std::int64_t step = block_threads / width;
      std::int64_t row = begin + thread / width;
      for (; row + 3 * step < end; row += 4 * step) {  // four loads are under way at a time
        const Partial first = sum.value(row, column), second = sum.value(row + step, column);
        const Partial third = sum.value(row + 2 * step, column), fourth = sum.value(row + 3 * step, column);
        partial = (((partial + first) + second) + third) + fourth;
      }
      for (; row < end; row += step) partial = partial + sum.value(row, column);
    }
    partials[thread] = partial;
    for (int threads = block_threads / 2; threads >= width; threads /= 2) {
      __syncthreads();
      if (thread < threads) partials[thread] = partials[thread] + partials[thread + threads];
    }
    if (thread < width && column < columns) sum.finish(part, column, partials[thread]);
    __syncthreads();  // the next item writes there
  }
};

// The columns that a block has, if their elements are neighbours.
inline int block_columns(std::int64_t columns) {
  int width = 1;
  while (width < warp_threads && width < columns) width *= 2;
  return width;
}

// `part_rows` is at least 1. A matrix without rows has one part. `width`: block_columns(), or 1 for columns whose
// elements lie apart.
template <class Sum>
void sum_columns(const KernelCall& call, std::int64_t rows, std::int64_t columns, std::int64_t part_rows, int width,
                 const Sum& sum) {
  const SumColumns<Sum> sums{sum, rows, columns, part_rows, width};
  for_teams<block_threads>(call, sums.parts() * sums.groups(), sums);
}

}  // namespace asyncgrad::detail::cuda
