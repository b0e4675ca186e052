// Normalised rows of contiguous elements, and their gradients. Internal.
#pragma once

#include <cmath>

#include "asyncgrad/backends/cuda/kernels/lane_elements.cuh"

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

// out = (x - mean) inverse weight + bias for each row. Affine has
//   weight(row, i) -> T, bias(row, i) -> T   of the row's element i
template <class T, class Affine, int kept>
struct NormRow {
  static constexpr int blocks_at_once = row_blocks_at_once<T>;

  std::int64_t n;
  double epsilon;
  bool is_rms;  // the mean counts as 0
  const T* x;
  T* out;
  Statistics<T> statistics;
  Affine affine;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const T* const in = x + row * n;
    const auto load = [in](std::int64_t i) { return in[i]; };
    const LaneElements<kept, Team, decltype(load)> elements(n, load);
    const RowStatistics<T> found = statistics_of(team, elements);
    T* const to = out + row * n;
    elements.each([&](std::int64_t i, T element) {
      to[i] = found.normal(element) * affine.weight(row, i) + affine.bias(row, i);
    });
    team.each(1, [&](std::int64_t) { statistics.set(row, found); });
  }

 private:
  // Both are 0 for a row without elements.
  template <class Team, class Elements>
  __device__ RowStatistics<T> statistics_of(Team team, const Elements& elements) const {
    if (n == 0) return {};
    const auto count = static_cast<double>(n);
    double total = 0, squares = 0;
    if (!is_rms) elements.each([&](std::int64_t, T element) { total += static_cast<double>(element); });
    const T mean = is_rms ? T(0) : static_cast<T>(team.folded(total, sum) / count);
    elements.each([&](std::int64_t, T element) {
      const T distance = element - mean;
      squares += static_cast<double>(distance * distance);
    });
    return {mean, static_cast<T>(1 / std::sqrt(team.folded(squares, sum) / count + epsilon))};
  }
};

// Sums over elements that share statistics: of g, and of g (x - mean), where g is dy weight.
struct GradientSums {
  double gradients, gradients_times_normal;

  __device__ GradientSums operator+(const GradientSums& other) const {
    return {gradients + other.gradients, gradients_times_normal + other.gradients_times_normal};
  }
};

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

}  // namespace asyncgrad::detail::cuda
