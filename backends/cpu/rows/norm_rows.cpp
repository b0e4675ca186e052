// Compiled once for every instruction set. A row is read from memory once and is in the cache from then on, so that the
// variance is taken of the differences from the mean, which loses no digits.
#include "asyncgrad/backends/cpu/rows/norm_rows.h"

#include <cmath>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/norm_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

template <class T>
using Running = Lanes<T>[running_vectors<T>];

// Calls add(v, i) for each vector of elements [i, …) and the running sum v that it belongs to.
template <class T, class Add>
HWY_INLINE void each_vector(std::int64_t begin, std::int64_t end, Add add) {
  std::int64_t i = begin;
  for (; i + running_sums <= end; i += running_sums) {
    for (std::size_t v = 0; v < running_vectors<T>; ++v) add(v, i + static_cast<std::int64_t>(v) * row_lanes<T>);
  }
  for (std::size_t v = 0; i < end; ++v, i += row_lanes<T>) add(v, i);
}

// The sum of (x - mean)^2, in the order of row_sum().
template <class T>
HWY_INLINE double squared_distances(const T* x, T mean, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, mean);
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += block_elements) {
    Running<T> running;
    for (auto& part : running) part = hn::Zero(d);
    const auto add = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const auto distance = hn::Sub(load(means, x + i, n - i), means);
      running[v] = hn::Add(running[v], hn::Mul(distance, distance));
    };
    each_vector<T>(begin, std::min(n, begin + block_elements), add);
    sum += fold<T>(running, AddLanes());
  }
  return sum;
}

template <class T>
HWY_INLINE void normalise(const NormBlock<T>& b, const T* x, T mean, T inverse, T* out) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, mean), inverses = hn::Set(d, inverse);
  const auto normal = [&](auto part) HWY_ATTR { return hn::Mul(hn::Sub(part, means), inverses); };
  if (b.weight == nullptr && b.bias == nullptr) return map_row(out, b.n, normal, x);
  const auto scaled = [&](auto part, auto weight) HWY_ATTR { return hn::Mul(normal(part), weight); };
  if (b.bias == nullptr) return map_row(out, b.n, scaled, x, b.weight);
  const auto shifted = [&](auto part, auto bias) HWY_ATTR { return hn::Add(normal(part), bias); };
  if (b.weight == nullptr) return map_row(out, b.n, shifted, x, b.bias);
  const auto both = [&](auto part, auto weight, auto bias)
                        HWY_ATTR { return hn::Add(hn::Mul(normal(part), weight), bias); };
  map_row(out, b.n, both, x, b.weight, b.bias);
}

template <class T>
void forward(const NormBlock<T>& b) {
  const auto n = static_cast<double>(b.n);
  for (std::int64_t row = 0; row < b.rows; ++row) {
    const T* const x = b.x + row * b.n;
    const T mean = b.is_rms ? T{0} : static_cast<T>(row_sum(x, b.n) / n);
    const T inverse = static_cast<T>(1 / std::sqrt(squared_distances(x, mean, b.n) / n + b.epsilon));
    b.mean[row] = mean;
    b.inverse[row] = inverse;
    normalise(b, x, mean, inverse, b.out + row * b.n);
  }
}

struct SlopeSums {
  double slopes, slopes_times_normal;
};

// The sums of g and of g (x - mean), where g = dy weight.
template <bool has_weight, class T>
HWY_INLINE SlopeSums slope_sums(const NormBlock<T>& b, const T* x, const T* dy, T mean) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d), means = hn::Set(d, mean);
  SlopeSums sums{};
  for (std::int64_t begin = 0; begin < b.n; begin += block_elements) {
    Running<T> slopes, products;
    for (auto& part : slopes) part = zero;
    for (auto& part : products) part = zero;
    const auto add = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const std::int64_t left = b.n - i;
      auto slope = load(zero, dy + i, left);
      if constexpr (has_weight) slope = hn::Mul(slope, load(zero, b.weight + i, left));
      slopes[v] = hn::Add(slopes[v], slope);
      products[v] = hn::Add(products[v], hn::Mul(slope, hn::Sub(load(means, x + i, left), means)));
    };
    each_vector<T>(begin, std::min(b.n, begin + block_elements), add);
    sums.slopes += fold<T>(slopes, AddLanes());
    sums.slopes_times_normal += fold<T>(products, AddLanes());
  }
  return sums;
}

// dx = inverse (g - mean(g) - normal mean(g normal)), where normal = (x - mean) inverse.
template <bool has_weight, class T>
HWY_INLINE void slopes_of_row(const NormBlock<T>& b, std::int64_t row) {
  const hn::ScalableTag<T> d;
  const T *const x = b.x + row * b.n, *const dy = b.dy + row * b.n;
  const T mean = b.mean[row], inverse = b.inverse[row];
  const SlopeSums sums = slope_sums<has_weight>(b, x, dy, mean);
  const auto n = static_cast<double>(b.n);
  const auto means = hn::Set(d, mean), inverses = hn::Set(d, inverse);
  const auto mean_slope = hn::Set(d, b.is_rms ? T{0} : static_cast<T>(sums.slopes / n));
  const auto along = hn::Set(d, static_cast<T>(sums.slopes_times_normal * static_cast<double>(inverse) / n));
  const auto slope = [&](auto part, auto dy_part) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(part, means), inverses);
    return hn::Mul(inverses, hn::Sub(hn::Sub(dy_part, mean_slope), hn::Mul(normal, along)));
  };
  const auto weighted = [&](auto part, auto dy_part, auto weight)
                            HWY_ATTR { return slope(part, hn::Mul(dy_part, weight)); };
  if constexpr (has_weight) {
    map_row(b.out + row * b.n, b.n, weighted, x, dy, b.weight);
  } else {
    map_row(b.out + row * b.n, b.n, slope, x, dy);
  }
  if (b.dweight != nullptr) {
    const auto add = [&](auto sum, auto part, auto dy_part)
                         HWY_ATTR { return hn::Add(sum, hn::Mul(dy_part, hn::Mul(hn::Sub(part, means), inverses))); };
    map_row(b.running, b.n, add, b.running, x, dy);
  }
  if (b.dbias != nullptr) {
    const auto add = [](auto sum, auto dy_part) HWY_ATTR { return hn::Add(sum, dy_part); };
    map_row(b.running + b.n, b.n, add, b.running + b.n, dy);
  }
}

// Adds what a block of rows has given to the sum of all and begins again: short sums lose fewer digits.
template <class T>
void hand_over(T* sums, T* running, std::int64_t n) {
  if (sums == nullptr) return;
  const auto add = [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); };
  map_row(sums, n, add, sums, running);
  std::fill_n(running, n, T{0});
}

template <class T>
void backward(const NormBlock<T>& b) {
  constexpr std::int64_t rows_together = 64;
  std::fill_n(b.running, 2 * b.n, T{0});
  if (b.dweight != nullptr) std::fill_n(b.dweight, b.n, T{0});
  if (b.dbias != nullptr) std::fill_n(b.dbias, b.n, T{0});
  for (std::int64_t row = 0; row < b.rows; ++row) {
    if (b.weight == nullptr) {
      slopes_of_row<false>(b, row);
    } else {
      slopes_of_row<true>(b, row);
    }
    if ((row + 1) % rows_together != 0 && row + 1 != b.rows) continue;
    hand_over(b.dweight, b.running, b.n);
    hand_over(b.dbias, b.running + b.n, b.n);
  }
}

template <class T>
const NormRows<T>& rows() {
  static constexpr NormRows<T> functions{forward<T>, backward<T>};
  return functions;
}
const NormRows<float>& float32_norm_rows() { return rows<float>(); }
const NormRows<double>& float64_norm_rows() { return rows<double>(); }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(float32_norm_rows);
HWY_EXPORT(float64_norm_rows);

const NormRows<float>& float32_norm() {
  static const NormRows<float>& rows = HWY_DYNAMIC_DISPATCH(float32_norm_rows)();
  return rows;
}
const NormRows<double>& float64_norm() {
  static const NormRows<double>& rows = HWY_DYNAMIC_DISPATCH(float64_norm_rows)();
  return rows;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
