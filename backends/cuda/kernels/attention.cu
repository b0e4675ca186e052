// Attention: the weights are powers of e, whose largest exponent is known when all scores were there.
#include <cmath>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/attention.cuh"

namespace asyncgrad::detail::cuda {

using namespace attention;

namespace {

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

void run_attention(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Scores<T> scores = scores_of<T>(call, 2, 5);
    sum_weighted(call, batches_of(call, 2), call.data<T>(0), scores.q.rows, matrices_of<T>(call, 4),
                 Powers<T>{scores, call.data<T>(1)});
  });
}

}  // namespace

constinit const Kernel kernels::attention{.run = run_attention};

}  // namespace asyncgrad::detail::cuda
