// Attention and its gradients in squares of queries and keys, so that no more than a square of scores exists at a time:
// Dao et al. 2022, "FlashAttention: fast and memory-efficient exact attention with IO-awareness". The gradients compute
// the scores again, from the logarithms of the rows' sums.
//
// Every result is a sum of rows with weights: out = shares v, dq = dscores k, dk = dscores^T q, dv = shares^T dout. One
// kernel computes all of them: a block of threads has some rows of a result, and adds the squares of their weights in
// turn, in an order that the shapes alone decide. Products are of the operands' type, whatever the math mode is.
#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

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

// What the scores are computed from.
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

// --- forwards: powers of e, whose largest score is known when all were there

template <class T>
struct Powers {
  static constexpr bool is_by_query = true;
  struct Rows {
    T maxima[patch<T>];
    double sums[patch<T>];
  };

  Scores<T> scores;
  T* log_sums;

  __device__ Rows begin() const {
    Rows rows;
    for (int i = 0; i < patch<T>; ++i) {
      rows.maxima[i] = lowest<T>();
      rows.sums[i] = 0;
    }
    return rows;
  }

  template <int parts>
  __device__ void square(SharedMemory<T>& shared, std::int64_t batch, std::int64_t row, std::int64_t column, Rows& rows,
                         Patch<T>& weights, Patch<T> (&sums)[parts]) const {
    multiply(shared, scores.q.of(batch), row, scores.k.of(batch), column, weights);
    const T* const mask = scores.mask_of(batch);
    for (int i = 0; i < patch<T>; ++i) {
      T largest = lowest<T>();
      for (int j = 0; j < patch<T>; ++j) {
        T& x = weights[i][j];
        x = scores.score(x, mask, row + thread_row() * patch<T> + i, column + thread_column() + across * j);
        largest = larger(largest, x);
      }
      largest = Team<across>::folded(largest, [](T x, T y) { return larger(x, y); });
      largest = larger(rows.maxima[i], largest);
      const T factor = rows.maxima[i] == lowest<T>() ? T(0) : std::exp(rows.maxima[i] - largest);
      rows.maxima[i] = largest;
      double sum = 0;
      for (T& x : weights[i]) {
        x = x == lowest<T>() ? T(0) : std::exp(x - largest);
        sum += static_cast<double>(x);
      }
      sum = Team<across>::folded(sum, [](double x, double y) { return x + y; });
      rows.sums[i] = rows.sums[i] * static_cast<double>(factor) + sum;
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        for (T& x : sums[part][i]) x *= factor;
      }
    }
  }

  template <int parts>
  __device__ void finish(std::int64_t batch, std::int64_t row, bool is_first_block, const Rows& rows,
                         Patch<T> (&sums)[parts]) const {
    for (int i = 0; i < patch<T>; ++i) {
      const T scale = rows.sums[i] == 0 ? T(0) : static_cast<T>(1 / rows.sums[i]);
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        for (T& x : sums[part][i]) x *= scale;
      }
      const std::int64_t query = row + thread_row() * patch<T> + i;
      if (!is_first_block || thread_column() != 0 || query >= scores.q.rows) continue;
      log_sums[batch * scores.q.rows + query] =
          static_cast<T>(static_cast<double>(rows.maxima[i]) + std::log(rows.sums[i]));
    }
  }
};

// --- backwards: shares of softmax, or the gradients of scores

template <class T, bool by_query, bool is_gradient>
struct Backward {
  static constexpr bool is_by_query = by_query;
  struct Rows {};

  Scores<T> scores;
  Matrices<T> v, dout;
  const T *log_sums, *means;  // by query

  __device__ Rows begin() const { return {}; }

  // x y^T, of queries and keys in the places of rows and columns.
  __device__ static void products(SharedMemory<T>& shared, const Matrix<T>& of_queries, const Matrix<T>& of_keys,
                                  std::int64_t row, std::int64_t column, Patch<T>& to) {
    if constexpr (by_query) {
      multiply(shared, of_queries, row, of_keys, column, to);
    } else {
      multiply(shared, of_keys, row, of_queries, column, to);
    }
  }

  template <int parts>
  __device__ void square(SharedMemory<T>& shared, std::int64_t batch, std::int64_t row, std::int64_t column, Rows&,
                         Patch<T>& weights, Patch<T> (&)[parts]) const {
    products(shared, scores.q.of(batch), scores.k.of(batch), row, column, weights);
    Patch<T> dshares;
    if constexpr (is_gradient) products(shared, dout.of(batch), v.of(batch), row, column, dshares);
    const T* const mask = scores.mask_of(batch);
    for (int i = 0; i < patch<T>; ++i) {
      for (int j = 0; j < patch<T>; ++j) {
        const std::int64_t x = row + thread_row() * patch<T> + i, y = column + thread_column() + across * j;
        const std::int64_t query = by_query ? x : y, key = by_query ? y : x;
        const T score = scores.score(weights[i][j], mask, query, key);
        weights[i][j] = 0;
        if (score == lowest<T>()) continue;  // also where there is no query
        const std::int64_t at = batch * scores.q.rows + query;
        const T share = std::exp(score - log_sums[at]);
        weights[i][j] = share;
        if constexpr (is_gradient) weights[i][j] = share * (dshares[i][j] - means[at]) * scores.scale;
      }
    }
  }

  template <int parts>
  __device__ void finish(std::int64_t, std::int64_t, bool, const Rows&, Patch<T> (&)[parts]) const {}
};

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

std::int64_t batches_of(const KernelCall& call, int q) { return leading_axes(call.shape(q)).numel(); }

void run_attention(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Scores<T> scores = scores_of<T>(call, 2, 5);
    sum_weighted(call, batches_of(call, 2), call.data<T>(0), scores.q.rows, matrices_of<T>(call, 4),
                 Powers<T>{scores, call.data<T>(1)});
  });
}

// The mean of a row's gradients, weighted by its shares: that of dout out.
template <class T>
struct Mean {
  T* means;
  const T *out, *dout;
  std::int64_t width;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const std::int64_t at = row * width;
    const double mean = team.reduce(
        width, 0.0,
        [&](std::int64_t i) { return static_cast<double>(out[at + i]) * static_cast<double>(dout[at + i]); },
        [](double x, double y) { return x + y; });
    team.each(1, [&](std::int64_t) { means[row] = static_cast<T>(mean); });
  }
};

void run_attention_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Scores<T> scores = scores_of<T>(call, 3, 9);
    const Matrices<T> v = matrices_of<T>(call, 5), dout = matrices_of<T>(call, 8);
    const std::int64_t batches = batches_of(call, 3), queries = scores.q.rows, keys = scores.k.rows;
    const T* const log_sums = call.data<T>(7);
    T* const means = reinterpret_cast<T*>(call.scratch);
    for_teams_of(v.width, call, batches * queries, Mean<T>{means, call.data<T>(6), dout.data, v.width});
    sum_weighted(call, batches, call.data<T>(0), queries, scores.k,
                 Backward<T, true, true>{scores, v, dout, log_sums, means});
    sum_weighted(call, batches, call.data<T>(1), keys, scores.q,
                 Backward<T, false, true>{scores, v, dout, log_sums, means});
    sum_weighted(call, batches, call.data<T>(2), keys, dout,
                 Backward<T, false, false>{scores, v, dout, log_sums, means});
  });
}

}  // namespace

constinit const Kernel kernels::attention{.run = run_attention};
// A mean for each query.
constinit const Kernel kernels::attention_grad{.run = run_attention_grad, .scratch_bytes = [](const KernelCall& call) {
                                                 return call.numel(7) *
                                                        static_cast<std::int64_t>(size_bytes(call.dtype(7)));
                                               }};

}  // namespace asyncgrad::detail::cuda
