// Normalised rows of contiguous elements, and their gradients. Internal.
//
// A row has a team, which goes through it several times. Few long rows are reduced in chunks instead, and then each element
// is computed by itself.
#pragma once

#include <cmath>

#include "asyncgrad/backends/cuda/kernels/lane_elements.cuh"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"

namespace asyncgrad::detail::cuda {

template <class T>
struct RowStatistics {
  T mean, inverse;  // 1 / sqrt(variance + epsilon)
  __device__ T normal(T x) const { return (x - mean) * inverse; }
};

// Rows' means and then their inverses.
template <class T>
struct Statistics {
  T* data;
  std::int64_t rows;

  __device__ RowStatistics<T> of(std::int64_t row) const { return {data[row], data[rows + row]}; }
  __device__ void set(std::int64_t row, const RowStatistics<T>& of_row) const {
    data[row] = of_row.mean;
    data[rows + row] = of_row.inverse;
  }
};

__device__ inline double sum(double x, double y) { return x + y; }

// Of n elements: their mean; the square of one's distance from it; and from the sum of those the inverse.
template <class T>
__device__ T mean_of(double total, std::int64_t n) {
  return static_cast<T>(total / static_cast<double>(n));
}
template <class T>
__device__ double squared_distance(T x, T mean) {
  const T distance = x - mean;
  return static_cast<double>(distance * distance);
}
template <class T>
__device__ T inverse_of(double squares, std::int64_t n, double epsilon) {
  return static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + epsilon));
}

// out = (x - mean) inverse weight + bias for each row. Affine has
//   weight(row, i) -> T, bias(row, i) -> T   of the row's element i
template <class T, class Affine>
struct NormRows {
  std::int64_t n;
  double epsilon;
  bool is_rms;  // the mean counts as 0
  const T* x;
  T* out;
  Statistics<T> statistics;
  Affine affine;

  __device__ T value(std::int64_t row, std::int64_t i, T element, const RowStatistics<T>& of_row) const {
    return of_row.normal(element) * affine.weight(row, i) + affine.bias(row, i);
  }
};

template <class T, class Affine, int kept>
struct NormRow {
  static constexpr int blocks_at_once = row_blocks_at_once<T>;

  NormRows<T, Affine> rows;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const T* const in = rows.x + row * rows.n;
    const auto load = [in](std::int64_t i) { return in[i]; };
    const LaneElements<kept, Team, decltype(load)> elements(rows.n, load);
    const RowStatistics<T> found = statistics_of(team, elements);
    T* const to = rows.out + row * rows.n;
    elements.each([&](std::int64_t i, T element) { to[i] = rows.value(row, i, element, found); });
    team.each(1, [&](std::int64_t) { rows.statistics.set(row, found); });
  }

 private:
  // Both are 0 for a row without elements.
  template <class Team, class Elements>
  __device__ RowStatistics<T> statistics_of(Team team, const Elements& elements) const {
    if (rows.n == 0) return {};
    double total = 0, squares = 0;
    if (!rows.is_rms) elements.each([&](std::int64_t, T element) { total += static_cast<double>(element); });
    const T mean = rows.is_rms ? T(0) : mean_of<T>(team.folded(total, sum), rows.n);
    elements.each([&](std::int64_t, T element) { squares += squared_distance(element, mean); });
    return {mean, inverse_of<T>(team.folded(squares, sum), rows.n, rows.epsilon)};
  }
};

// --- The same of few long rows

template <class T>
struct RowMean : Summing<T> {
  const T* x;
  Statistics<T> statistics;
  std::int64_t n;

  __device__ double value(std::int64_t, std::int64_t element) const { return static_cast<double>(x[element]); }
  __device__ void finish(std::int64_t row, double total) const { statistics.data[row] = mean_of<T>(total, n); }
};

template <class T>
struct NoMean {
  Statistics<T> statistics;
  __device__ void operator()(std::int64_t row) const { statistics.data[row] = T(0); }
};

template <class T>
struct RowInverse : Summing<T> {
  const T* x;
  Statistics<T> statistics;
  std::int64_t n;
  double epsilon;

  __device__ double value(std::int64_t row, std::int64_t element) const {
    return squared_distance(x[element], statistics.data[row]);
  }
  __device__ void finish(std::int64_t row, double squares) const {
    statistics.set(row, {statistics.data[row], inverse_of<T>(squares, n, epsilon)});
  }
};

template <class T, class Affine>
struct NormElement {
  NormRows<T, Affine> rows;
  Divisor width;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = width(i);
    rows.out[i] = rows.value(at.quotient, at.remainder, rows.x[i], rows.statistics.of(at.quotient));
  }
};

inline Lines lines_of_rows(std::int64_t rows, std::int64_t n) { return {rows, n, 1}; }

// At most a thousandth of the elements.
inline std::int64_t norm_scratch_bytes(std::int64_t rows, std::int64_t n) {
  const Lines lines = lines_of_rows(rows, n);
  return are_few_and_long(lines) ? reduce_scratch_bytes(lines) : 0;
}

// `scratch`: of norm_scratch_bytes.
template <class T, class Affine>
void norm_rows(const KernelCall& call, const NormRows<T, Affine>& rows, std::byte* scratch) {
  const Statistics<T>& statistics = rows.statistics;
  const Lines lines = lines_of_rows(statistics.rows, rows.n);
  if (!are_few_and_long(lines)) {
    return with_row_teams(rows.n, [&]<int lanes, int kept>() {
      for_teams<lanes>(call, statistics.rows, NormRow<T, Affine, kept>{rows});
    });
  }
  if (rows.is_rms) {
    for_each(call, statistics.rows, NoMean<T>{statistics});
  } else {
    reduce(call, lines, RowMean<T>{{}, rows.x, statistics, rows.n}, scratch);
  }
  reduce(call, lines, RowInverse<T>{{}, rows.x, statistics, rows.n, rows.epsilon}, scratch);
  for_each(call, statistics.rows * rows.n, NormElement<T, Affine>{rows, Divisor(rows.n)});
}

// --- The gradient of x

// Sums over elements that share statistics: of g, and of g (x - mean), where g is dy weight.
struct GradientSums {
  double gradients, gradients_times_normal;

  __device__ GradientSums operator+(const GradientSums& other) const {
    return {gradients + other.gradients, gradients_times_normal + other.gradients_times_normal};
  }
};
__device__ inline GradientSums added(const GradientSums& a, const GradientSums& b) { return a + b; }
template <class T>
__device__ GradientSums gradient_sums(T g, T x, T mean) {
  return {static_cast<double>(g), static_cast<double>(g * (x - mean))};
}

// The gradient of x: inverse (g - mean(g) - normal mean(g normal)). rms_norm has no mean(g).
template <class T>
struct RowGradient {
  RowStatistics<T> statistics;
  T mean_gradient, along;

  __device__ RowGradient(const RowStatistics<T>& of_row, const GradientSums& sums, std::int64_t n, bool is_rms)
      : statistics(of_row),
        mean_gradient(is_rms ? T(0) : static_cast<T>(sums.gradients / static_cast<double>(n))),
        along(static_cast<T>(sums.gradients_times_normal * static_cast<double>(of_row.inverse) /
                             static_cast<double>(n))) {}

  __device__ T operator()(T x, T g) const {
    return statistics.inverse * ((g - mean_gradient) - statistics.normal(x) * along);
  }
};

// Of each element of few long rows, whose gradients are known. Affine is as in NormRows.
template <class T, class Affine>
struct GradientElement {
  const T *x, *dy;
  T* dx;  // perhaps dy
  const RowGradient<T>* gradients;
  Affine affine;
  Divisor width;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = width(i);
    dx[i] = gradients[at.quotient](x[i], dy[i] * affine.weight(at.quotient, at.remainder));
  }
};

}  // namespace asyncgrad::detail::cuda
