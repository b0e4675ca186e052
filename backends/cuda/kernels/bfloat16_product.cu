// Products of bfloat16, summed in float32, for GPUs for which cuBLASLt has none. A block computes a square of out from
// squares of x and w in its shared memory.
#include "asyncgrad/backends/cuda/kernels/product.h"

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr int side = 64, depth = 16, across = 16, patch = side / across;
static_assert(across * across == block_threads);

// A matrix of each batch, read as (rows, depth), whose elements are so far apart.
struct Side {
  const BFloat16* data;
  std::int64_t rows, of_row, of_depth, of_batch;

  __device__ float at(std::int64_t batch, std::int64_t row, std::int64_t k, std::int64_t end) const {
    return row < rows && k < end ? static_cast<float>(data[batch * of_batch + row * of_row + k * of_depth]) : 0.0F;
  }
  // The square's elements [row, row + side) and [k, k + depth), read in the order in which they lie.
  __device__ void load(float (&square)[depth][side + 1], std::int64_t batch, std::int64_t row, std::int64_t k,
                       std::int64_t end) const {
    for (int i = static_cast<int>(threadIdx.x); i < side * depth; i += block_threads) {
      const int line = of_depth == 1 ? i / depth : i % side, column = of_depth == 1 ? i % depth : i / side;
      square[column][line] = at(batch, row + line, k + column, end);
    }
  }
};

struct MultiplySquare {
  BFloat16* out;
  Side x, w;
  std::int64_t terms;

  __host__ __device__ static std::int64_t squares(std::int64_t extent) { return (extent + side - 1) / side; }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    __shared__ float of_x[depth][side + 1], of_w[depth][side + 1];
    const Divided column = divided(item, squares(w.rows)), row = divided(column.quotient, squares(x.rows));
    const std::int64_t batch = row.quotient, first_row = row.remainder * side, first_column = column.remainder * side;
    const int thread_row = static_cast<int>(threadIdx.x) / across,
              thread_column = static_cast<int>(threadIdx.x) % across;
    float sums[patch][patch] = {};
    for (std::int64_t k = 0; k < terms; k += depth) {
      x.load(of_x, batch, first_row, k, terms);
      w.load(of_w, batch, first_column, k, terms);
      team.meet();
      for (int term = 0; term < depth; ++term) {
        for (int i = 0; i < patch; ++i) {
          for (int j = 0; j < patch; ++j) {
            sums[i][j] =
                std::fma(of_x[term][thread_row + across * i], of_w[term][thread_column + across * j], sums[i][j]);
          }
        }
      }
      team.meet();
    }
    for (int i = 0; i < patch; ++i) {
      const std::int64_t to_row = first_row + thread_row + across * i;
      for (int j = 0; j < patch; ++j) {
        const std::int64_t to_column = first_column + thread_column + across * j;
        if (to_row >= x.rows || to_column >= w.rows) continue;
        out[(batch * x.rows + to_row) * w.rows + to_column] = BFloat16(sums[i][j]);
      }
    }
  }
};

// x has `columns` rows and w has `rows` columns, see Product.
Side side_of(const BFloat16* data, std::int64_t lines, std::int64_t depth, bool has_lines_across, bool repeats) {
  return {data, lines, has_lines_across ? 1 : depth, has_lines_across ? lines : 1, repeats ? 0 : lines * depth};
}

}  // namespace

void multiply_bfloat16(const KernelCall& call, const Product& p, const Matrices& matrices) {
  const auto* const x = reinterpret_cast<const BFloat16*>(matrices.b);
  const auto* const w = reinterpret_cast<const BFloat16*>(matrices.a);
  const MultiplySquare multiply{reinterpret_cast<BFloat16*>(matrices.d),
                                side_of(x, p.columns, p.depth, p.transpose_b, p.repeats_b),
                                side_of(w, p.rows, p.depth, !p.transpose_a, p.repeats_a), p.depth};
  for_teams<block_threads>(call, p.batches * MultiplySquare::squares(p.columns) * MultiplySquare::squares(p.rows),
                           multiply);
}

}  // namespace asyncgrad::detail::cuda
