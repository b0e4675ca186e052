// The gradients of attention: the weights are shares of softmax, or the gradients of scores. Both are computed again, from
// the logarithms of the rows' sums.
#include <cmath>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/attention.cuh"

namespace asyncgrad::detail::cuda {

using namespace attention;

namespace {

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

// A mean for each query.
constinit const Kernel kernels::attention_grad{.run = run_attention_grad, .scratch_bytes = [](const KernelCall& call) {
                                                 return call.numel(7) * call.element_bytes(7);
                                               }};

}  // namespace asyncgrad::detail::cuda
