// The parts that attention and its gradients share. Internal.
//
// Both are computed in squares of queries and keys, so that no more than a square of scores exists at a time: Dao et al.
// 2022, "FlashAttention: fast and memory-efficient exact attention with IO-awareness".
//
// Every result is a sum of rows with weights: out = shares v, dq = dscores k, dk = dscores^T q, dv = shares^T dout. One
// kernel computes all of them: a block of threads has some rows of a result, and adds the squares of their weights in
// turn, in an order that the shapes alone decide. Products are of the operands' type, whatever the math mode is.
#pragma once

#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda::attention {

// So many threads of a block lie side by side; each has a patch of every square.
constexpr int across = 16;
static_assert(across * across == block_threads);

// A square and its patches.
template <class T>
constexpr int patch = Pack<T>::size;
template <class T>
constexpr int side = across* patch<T>;

// Parts of rows, as many elements as `depth`. A pack more, which is not used, lets columns of packs lie in different
// banks.
constexpr int depth = 32;
template <class T>
struct SharedMemory {
  Pack<T> rows[side<T>][depth / patch<T> + 1], columns[side<T>][depth / patch<T> + 1];
  Pack<T> weights[side<T>][side<T> / patch<T> + 1];
};

// A batch's matrix, by rows.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t rows, width;

  // put(i, j, x) for the elements x of `lines` rows from `row` on and `columns` columns from `column` on; those outside of
  // the matrix are 0. The block's threads read along rows.
  template <int lines, int columns, class Put>
  __device__ void each(std::int64_t row, std::int64_t column, Put put) const {
    constexpr int at_once = block_threads / columns;
    const int j = static_cast<int>(threadIdx.x) % columns, first = static_cast<int>(threadIdx.x) / columns;
    const T* from = data + (row + first) * width + column + j;
    const std::int64_t left = column + j < width ? rows - row : 0;
#pragma unroll
    for (int i = first; i < lines; i += at_once, from += at_once * width) put(i, j, i < left ? *from : T(0));
  }
};
template <class T>
struct Matrices {  // of all batches
  const T* data;
  std::int64_t rows, width;
  __device__ Matrix<T> of(std::int64_t batch) const { return {data + batch * rows * width, rows, width}; }
};
template <class T>
Matrices<T> matrices_of(const KernelCall& call, int operand) {
  return {call.data<T>(operand), call.shape(operand)[-2], call.shape(operand)[-1]};
}

// A patch of a square has adjacent rows, and columns that lie `across` apart. One of rows that weights multiply has
// adjacent columns, too.
template <class T>
using Patch = T[patch<T>][patch<T>];

__device__ inline int thread_row() { return static_cast<int>(threadIdx.x) / across; }
__device__ inline int thread_column() { return static_cast<int>(threadIdx.x) % across; }

// products = x y^T, of the rows that begin at `row` and at `column`.
template <class T>
__device__ void multiply(SharedMemory<T>& shared, const Matrix<T>& x, std::int64_t row, const Matrix<T>& y,
                         std::int64_t column, Patch<T>& products) {
  constexpr int n = patch<T>;
  for (auto& line : products) {
    for (T& product : line) product = 0;
  }
  for (std::int64_t at = 0; at < x.width; at += depth) {
    __syncthreads();
    x.template each<side<T>, depth>(row, at, [&](int i, int k, T value) { shared.rows[i][k / n].x[k % n] = value; });
    y.template each<side<T>, depth>(column, at,
                                    [&](int i, int k, T value) { shared.columns[i][k / n].x[k % n] = value; });
    __syncthreads();
    const int packs = x.width - at < depth ? (static_cast<int>(x.width - at) + n - 1) / n : depth / n;
    for (int k = 0; k < packs; ++k) {
      Pack<T> a[n], b[n];
      for (int i = 0; i < n; ++i) a[i] = shared.rows[thread_row() * n + i][k];
      for (int j = 0; j < n; ++j) b[j] = shared.columns[thread_column() + across * j][k];
      for (int e = 0; e < n; ++e) {
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) products[i][j] = std::fma(a[i].x[e], b[j].x[e], products[i][j]);
        }
      }
    }
  }
}

// sums += weights y, of y's rows from `row` on and its columns from `column` on, for `parts` squares side by side.
template <int parts, class T>
__device__ void add_weighted(SharedMemory<T>& shared, const Patch<T>& weights, const Matrix<T>& y, std::int64_t row,
                             std::int64_t column, Patch<T> (&sums)[parts]) {
  constexpr int n = patch<T>, packs = side<T> / n;
  static_assert(depth * packs <= static_cast<int>(sizeof(shared.columns) / sizeof(Pack<T>)));
  Pack<T>* const loaded = &shared.columns[0][0];  // (depth, packs)
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const int at = thread_column() + across * j;
      shared.weights[thread_row() * n + i][at / n].x[at % n] = weights[i][j];
    }
  }
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    const std::int64_t first = column + part * side<T>;
    for (int at = 0; first < y.width && at < side<T> && row + at < y.rows; at += depth) {
      __syncthreads();
      y.template each<depth, side<T>>(row + at, first,
                                      [&](int i, int j, T value) { loaded[i * packs + j / n].x[j % n] = value; });
      __syncthreads();
      for (int k = 0; k < depth / n; ++k) {
        Pack<T> a[n];
        for (int i = 0; i < n; ++i) a[i] = shared.weights[thread_row() * n + i][at / n + k];
        for (int e = 0; e < n; ++e) {
          const Pack<T> b = loaded[(k * n + e) * packs + thread_column()];
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) sums[part][i][j] = std::fma(a[i].x[e], b.x[j], sums[part][i][j]);
          }
        }
      }
    }
  }
  __syncthreads();
}

// Computes scores from queries and keys.
template <class T>
struct Scores {
  Matrices<T> q, k;
  T scale;
  bool is_causal;
  // The mask: (…, T, S), some axes of which may be repeated. Null if there is none.
  const T* mask = nullptr;
  Broadcast mask_batches{{}, {}, 0};
  std::int64_t mask_matrix = 0, mask_row = 0, mask_column = 0;  // the distances of its elements

  __device__ const T* mask_of(std::int64_t batch) const {
    return mask == nullptr ? nullptr : mask + mask_batches.offset(0, batch) * mask_matrix;
  }
  // From q k^T. -inf for what is hidden or not there.
  __device__ T score(T product, const T* batch_mask, std::int64_t query, std::int64_t key) const {
    if (query >= q.rows || key >= k.rows || (is_causal && key > query)) return lowest<T>();
    const T scaled = product * scale;
    return batch_mask == nullptr ? scaled : scaled + batch_mask[query * mask_row + key * mask_column];
  }
  // The squares of a row of them, or of a column, that have scores which are not hidden: [begin, end) of the other axis.
  struct Range {
    std::int64_t begin, end;
  };
  __device__ Range keys_of(std::int64_t query) const {
    const std::int64_t end = query + side<T>;
    return {0, is_causal && end < k.rows ? end : k.rows};
  }
  __device__ Range queries_of(std::int64_t key) const { return {is_causal ? key : 0, q.rows}; }
};

template <class T>
Scores<T> scores_of(const KernelCall& call, int q, int mask) {
  const auto& a = call.attributes<AttentionAttributes>();
  Scores<T> scores{.q = matrices_of<T>(call, q),
                   .k = matrices_of<T>(call, q + 1),
                   .scale = static_cast<T>(a.scale),
                   .is_causal = a.is_causal};
  if (!a.has_mask) return scores;
  const Shape& shape = call.shape(mask);
  const std::int64_t columns = shape.rank() > 0 ? shape[-1] : 1, rows = shape.rank() > 1 ? shape[-2] : 1;
  const Shape leading = leading_axes(call.shape(q)), of_mask = shape.rank() > 2 ? leading_axes(shape) : Shape();
  scores.mask = call.data<T>(mask);
  scores.mask_batches = Broadcast(leading, {&of_mask}, 1);
  scores.mask_matrix = rows * columns;
  scores.mask_row = rows > 1 ? columns : 0;
  scores.mask_column = columns > 1 ? 1 : 0;
  return scores;
}

// Weights have
//   is_by_query    whether a result's rows belong to queries, and the columns of weights to keys, or the other way round
//   Rows           what a thread keeps of the rows of its patch
//   square(shared, batch, row, column, rows, weights, sums)   computes a patch of the weights; may scale the sums so far
//   finish(batch, row, is_first_block, rows, sums)            does so at the end; the first of the blocks of columns
//                                                             writes what is of the row

// An item is `parts` squares of columns of some rows of a batch's result.
template <class T, int parts, class Weights>
struct SumWeighted {
  static constexpr int columns = parts * side<T>;
  static constexpr int blocks_at_once = columns > 128 ? 1 : 2;

  T* out;
  std::int64_t rows;  // of a batch
  Matrices<T> in;
  Weights weights;

  __host__ __device__ std::int64_t row_blocks() const { return (rows + side<T> - 1) / side<T>; }
  // One at least, as weights have results, too.
  __host__ __device__ std::int64_t column_blocks() const {
    return in.width <= columns ? 1 : (in.width + columns - 1) / columns;
  }

  template <class Team>
  __device__ void operator()(Team, std::int64_t item) const {
    __shared__ SharedMemory<T> shared;
    const Divided at = divided(item, row_blocks()), of_batch = divided(at.quotient, column_blocks());
    const std::int64_t row = at.remainder * side<T>, first = of_batch.remainder * columns, batch = of_batch.quotient;
    const Matrix<T> y = in.of(batch);
    Patch<T> sums[parts];
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      for (auto& line : sums[part]) {
        for (T& sum : line) sum = 0;
      }
    }
    typename Weights::Rows state = weights.begin();
    const auto range = Weights::is_by_query ? weights.scores.keys_of(row) : weights.scores.queries_of(row);
    for (std::int64_t column = range.begin; column < range.end; column += side<T>) {
      Patch<T> patch_of_weights;
      weights.square(shared, batch, row, column, state, patch_of_weights, sums);
      add_weighted(shared, patch_of_weights, y, column, first, sums);
    }
    weights.finish(batch, row, first == 0, state, sums);
    T* const to = out + batch * rows * in.width;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      for (int i = 0; i < patch<T>; ++i) {
        const std::int64_t line = row + thread_row() * patch<T> + i;
        for (int j = 0; j < patch<T>; ++j) {
          const std::int64_t column = first + part * side<T> + thread_column() * patch<T> + j;
          if (line < rows && column < in.width) to[line * in.width + column] = sums[part][i][j];
        }
      }
    }
  }
};

template <int parts, class T, class Weights>
void sum_blocks(const KernelCall& call, std::int64_t batches, T* out, std::int64_t rows, const Matrices<T>& in,
                const Weights& weights) {
  const SumWeighted<T, parts, Weights> sums{out, rows, in, weights};
  for_teams<block_threads>(call, batches * sums.row_blocks() * sums.column_blocks(), sums);
}

// out (…, rows, in.width) = weights in. The more columns a block has, the less often it computes weights; the fewer, the
// more blocks run at once.
template <class T, class Weights>
void sum_weighted(const KernelCall& call, std::int64_t batches, T* out, std::int64_t rows, const Matrices<T>& in,
                  const Weights& weights) {
  constexpr int most = 256 / side<T>;
  if constexpr (sizeof(T) == 4) {  // float64 is seldom used
    if (in.width <= 64) return sum_blocks<most / 4>(call, batches, out, rows, in, weights);
    if (in.width <= 128) return sum_blocks<most / 2>(call, batches, out, rows, in, weights);
  }
  sum_blocks<most>(call, batches, out, rows, in, weights);
}

inline std::int64_t batches_of(const KernelCall& call, int q) { return leading_axes(call.shape(q)).numel(); }

}  // namespace asyncgrad::detail::cuda::attention
